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

const other_body = "on Citus it has another body: migrations/distributed";

export const function_exceptions: readonly Exception[] = [
  { in: "chat_move_recipients", rule: "look-up-beside-rows", reason: without_statistics },
  { in: "record_message_events", rule: "look-up-beside-rows", reason: without_statistics },
  { in: "record_chat_replies", rule: "look-up-beside-rows", reason: without_statistics },
  {
    in: "create_leads",
    rule: "look-up-beside-rows",
    reason: `as joins of the batch, plans depended on statistics; ${other_body}`,
  },
  {
    in: "claim_due_recipients",
    rule: "look-up-beside-rows",
    reason: "reads one index entry for each list of time zones and priority",
  },
  {
    in: "find_dialable",
    rule: "several-accounts",
    reason: "the poll of the node leaders for campaigns to dial",
  },
  { in: "find_dialable", rule: "correlated-account", reason: other_body },
  { in: "find_dialable", rule: "look-up-beside-rows", reason: other_body },
  { in: "find_dialable", rule: "sql-function", reason: other_body },
  {
    in: "find_dialable_campaigns",
    rule: "several-accounts",
    reason: "the poll of the node leaders for campaigns to dial",
  },
  { in: "find_dialable_campaigns", rule: "correlated-account", reason: other_body },
  { in: "find_dialable_campaigns", rule: "look-up-beside-rows", reason: other_body },
  { in: "find_dialable_campaigns", rule: "sql-function", reason: other_body },
  {
    in: "accounts_with_due_calls",
    rule: "several-accounts",
    reason: "the node leaders' poll for due calls",
  },
  {
    in: "accounts_with_new_events",
    rule: "several-accounts",
    reason: "the relays' poll for accounts with events",
  },
  { in: "accounts_with_new_events", rule: "recursive", reason: other_body },
  { in: "accounts_with_new_events", rule: "sql-function", reason: other_body },
];

/** Statements that read several accounts: one poll for each role, and what is not done for one account. */
const polls: Readonly<Record<string, string>> = {
  "server/callbacks/deliveries/open-deliverers.ts": "the deliverers' poll for endpoints with work",
  "server/calls/audio/audio-files.ts": "the poll for unused audio",
  "server/calls/audio/purge-archived-audio.ts": "the poll for audio of archived voice files",
  "server/calls/controls/end-overdue-calls.ts": "the poll for overdue calls",
  "server/calls/leader/commands/execute-user-commands.ts": "a node's requested commands",
  "server/calls/leader/node/leader-statements.ts": "the node's accounts with calls",
  "server/calls/leader/node/node-state.ts":
    "what a node's leader has to do, and its trunks' live calls",
  "server/calls/leader/node/node-work.ts": "the node leaders' poll for due calls",
  "server/calls/leader/open-node-leaders.ts": "the poll for nodes with work",
  "server/chat/inbound/apply/inbox.ts": "the appliers' poll for numbers with webhooks",
  "server/chat/sender/open-senders.ts": "the senders' poll for numbers with work",
  "server/crm/lead-imports/run-lead-imports.ts": "the poll for imports",
  "server/engine/poll-work.ts": "the poll of a worker for everything that is due",
  "server/engine/database-identity.ts": "the positions of all accounts, after a restore",
  "server/engine/database-upkeep.ts": "the poll for old leases",
  "server/engine/work-jobs.ts": "the workers' poll for due jobs",
  "server/engine/worker-share.ts": "the leases of a role, which a process shares with others",
  "server/live/read-events-page.ts": "the heads of all accounts with open streams",
  "server/reports/count-campaigns.ts": "the poll for campaigns of earlier versions to count",
  "server/reports/fold-calls.ts": "the poll for accounts with days to fold",
  "server/retention/due-accounts.ts": "the poll for accounts with a due retention period",
  "server/voice/campaigns/complete-voice-campaigns.ts": "the poll for campaigns that may end",
  "server/voice/campaigns/move-stranded-campaigns.ts":
    "the poll for campaigns whose trunk cannot be used",
  "server/voice/campaigns/synthesize-scripts.ts": "the poll for scripts to synthesize",
  "server/telephony/nodes/measure-nodes.ts": "metrics of the installation's nodes",
  "server/telephony/nodes/move-queued-calls.ts": "a node's queued calls, when an operator stops it",
  "server/telephony/nodes/delete-voice-node.ts":
    "any account's call that keeps a node from being deleted",
  "server/telephony/nodes/update-voice-node.ts":
    "any account's call or recording that keeps a node's ARI application",
  "server/telephony/trunks/delete-trunk.ts":
    "any account's call that keeps a trunk from being deleted",
  "server/telephony/trunks/move-stranded-calls.ts":
    "the poll for queued calls whose trunk cannot be used",
  "server/telephony/trunks/update-trunk.ts": "any account's call that keeps a trunk on its node",
  "server/engine/queue-age.ts": "metrics of the installation",
  "server/reports/measure-installation.ts": "metrics of the installation",
  "server/chat/holds/throttled-seconds.ts": "metrics of the installation",
  "server/chat/inbound/unread-webhooks.ts": "metrics of the installation",
  "server/accounts/accounts/accounts.ts": "the operator's list of accounts",
  "server/chat/credentials/credentials.ts": "all credentials, page by page, when the key changes",
  "server/accounts/sessions/sign-in.ts": "a person's users in all accounts, by email address",
  "server/accounts/sessions/oidc-sign-in.ts": "a person's users in all accounts, by email address",
  "server/accounts/sessions/request-password-reset.ts":
    "a person's users in all accounts, by email address",
};

const in_poll = "within the poll; to be split into a plain poll and a read of each account";
const skips =
  "finds distinct values by skipping along an index; on Citus only with one account, which it names";
const by_page = "at most a page of rows, and a page has few";

export const statement_exceptions: readonly Exception[] = [
  ...Object.entries(polls).map(
    ([file, reason]) => ({ in: file, rule: "several-accounts", reason }) as const,
  ),
  {
    in: "server/callbacks/deliveries/open-deliverers.ts",
    rule: "correlated-account",
    reason: in_poll,
  },
  { in: "server/calls/audio/audio-files.ts", rule: "correlated-account", reason: in_poll },
  {
    in: "server/calls/audio/purge-archived-audio.ts",
    rule: "correlated-account",
    reason: in_poll,
  },
  {
    in: "server/calls/controls/end-overdue-calls.ts",
    rule: "correlated-account",
    reason: in_poll,
  },
  { in: "server/chat/sender/open-senders.ts", rule: "correlated-account", reason: in_poll },
  {
    in: "server/crm/lead-imports/run-lead-imports.ts",
    rule: "correlated-account",
    reason: in_poll,
  },
  { in: "server/chat/inbound/apply/inbox.ts", rule: "correlated-account", reason: in_poll },
  { in: "server/engine/poll-work.ts", rule: "correlated-account", reason: in_poll },
  { in: "server/engine/work-jobs.ts", rule: "correlated-account", reason: in_poll },
  {
    in: "server/voice/campaigns/complete-voice-campaigns.ts",
    rule: "correlated-account",
    reason: in_poll,
  },
  {
    in: "server/voice/campaigns/move-stranded-campaigns.ts",
    rule: "correlated-account",
    reason: in_poll,
  },
  {
    in: "server/voice/campaigns/synthesize-scripts.ts",
    rule: "correlated-account",
    reason: in_poll,
  },
  {
    in: "server/voice/campaigns/synthesize-scripts.ts",
    rule: "look-up-beside-rows",
    reason: "reads at most 500 index entries for each list of time zones",
  },
  { in: "server/chat/holds/throttled-seconds.ts", rule: "correlated-account", reason: "metrics" },
  {
    in: "server/reports/measure-installation.ts",
    rule: "correlated-account",
    reason: "metrics",
  },
  { in: "server/engine/queue-age.ts", rule: "correlated-account", reason: "metrics" },
  { in: "server/telephony/nodes/measure-nodes.ts", rule: "correlated-account", reason: "metrics" },
  {
    in: "server/lib/secrets/stored-secrets.ts",
    rule: "correlated-account",
    reason: "an operator's command seals the secrets of all accounts again",
  },
  {
    in: "server/calls/records/call-records.ts",
    rule: "look-up-beside-rows",
    reason: "one index range for each of a few submissions",
  },
  { in: "server/chat/campaigns/campaign-pace.ts", rule: "recursive", reason: skips },
  { in: "server/people/internal/search-statements.ts", rule: "recursive", reason: skips },
  {
    in: "server/people/internal/search-statements.ts",
    rule: "look-up-beside-rows",
    reason: "one index range for each spelling of a number, of which there are at most two",
  },
  {
    in: "server/people/names-of-phones.ts",
    rule: "look-up-beside-rows",
    reason: "one index entry for each spelling of each number of a page",
  },
  {
    in: "server/people/internal/timeline-sources.ts",
    rule: "look-up-beside-rows",
    reason: "one index range for each spelling of a number, of which there are at most two",
  },
  {
    in: "server/chat/sender/internal/sender-statements.ts",
    rule: "look-up-beside-rows",
    reason: without_statistics,
  },
  {
    in: "server/voice/campaigns/campaign-records.ts",
    rule: "look-up-beside-rows",
    reason: by_page,
  },
  {
    in: "server/accounts/accounts/accounts.ts",
    rule: "correlated-account",
    reason: "the operator's list of accounts",
  },
];
