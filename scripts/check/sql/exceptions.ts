// Statements that do not keep a rule of scripts/check/sql yet, or cannot. The check refuses an entry that is not needed.
import type { Rule } from "./account-rules.ts";

export type Exception = {
  /** An SQL function, or the file of the server that issues the statement. */
  readonly in: string;
  readonly rule: Rule;
  readonly reason: string;
};

const without_statistics =
  "a look-up by key for each row cannot read a whole account, whatever statistics the plan was made with";

export const function_exceptions: readonly Exception[] = [
  { in: "chat_move_recipients", rule: "look-up-beside-rows", reason: without_statistics },
  { in: "record_message_events", rule: "look-up-beside-rows", reason: without_statistics },
  { in: "record_chat_replies", rule: "look-up-beside-rows", reason: without_statistics },
  { in: "unfold_calls", rule: "look-up-beside-rows", reason: without_statistics },
  {
    in: "create_leads",
    rule: "look-up-beside-rows",
    reason: "as joins of the batch, plans depended on statistics; a body for Citus replaces it",
  },
  {
    in: "claim_recipients",
    rule: "look-up-beside-rows",
    reason: "reads one index entry for each list of time zones and priority",
  },
  {
    in: "claim_recipients",
    rule: "function-per-row",
    reason:
      "attempts and caps of at most 20 candidates more than it takes, in the statement that locks them",
  },
  {
    in: "find_dialable",
    rule: "several-accounts",
    reason: "the poll of the node leaders for campaigns to dial",
  },
  {
    in: "find_dialable",
    rule: "correlated-account",
    reason:
      "the poll also finds out whether recipients are due; to be split into a poll and a read of one account",
  },
  { in: "find_dialable", rule: "look-up-beside-rows", reason: "as above" },
  { in: "find_dialable", rule: "sql-function", reason: "the poll is inlined" },
];

export const statement_exceptions: readonly Exception[] = [];
