// What is to be done with a batch of webhooks, worked out before anything is changed.
import type { Report } from "../../../drivers/chat/driver.ts";
import { readMessageId } from "../../messages/message-id.ts";
import {
  furthestMoves,
  type Dispatch,
  type ReportMove,
  type Status,
  type StatusReport,
} from "./furthest-moves.ts";
import type { StoredWebhooks } from "./inbox.ts";
import type { ReadReport } from "./read-webhooks.ts";

/** The provider's code for a customer who does not want to hear from us. */
const opted_out_code = 131050;
/** How long a status may be ahead of the sender's record of its message. */
const unknown_kept_ms = 600_000;
const retry_first_ms = 1_000;

export type ReplyReport = Extract<Report, { kind: "reply" }>;

/** A row with what each of its webhooks reports. */
export type ReadWebhooks = {
  readonly row: StoredWebhooks;
  readonly reports: readonly (readonly ReadReport[])[];
};

/** What needs verbs of its own, in a transaction of its own. */
export type SideEffect =
  | { readonly kind: "opt_out"; readonly reply: ReplyReport }
  | { readonly kind: "refused_by_customer"; readonly dispatch: Dispatch; readonly at: Date }
  | Extract<ReadReport, { kind: "preference" | "template" | "account" }>;

export type SortedReports = {
  readonly moves: readonly ReportMove[];
  /** Replies that are only kept. */
  readonly replies: readonly ReplyReport[];
  /** Rows that are done with once moves and replies are applied. */
  readonly done: readonly number[];
  /** Webhooks with statuses of messages that are not known yet: looked at again. */
  readonly later: readonly {
    readonly driver: string;
    readonly body: readonly unknown[];
    readonly received_at: Date;
    readonly due_at: Date;
  }[];
  /** By row, which goes with them. */
  readonly side_effects: readonly {
    readonly id: number;
    readonly side_effects: readonly SideEffect[];
  }[];
  /** Statuses given up: nobody here sent their messages. */
  readonly dropped: number;
};

export type Known = {
  readonly account_id: number;
  /** Dispatches by the provider's message id, for statuses without an id of ours. */
  readonly byProviderId: ReadonlyMap<string, Dispatch>;
  readonly isStopWord: (text: string) => boolean;
  readonly now: Date;
};

/** The dispatch that our own id in a status names, or null: another's id, another account's, or none. */
export function namedDispatch(accountId: number, { message_id }: StatusReport): Dispatch | null {
  const named = message_id === null ? null : readMessageId(message_id);
  return named?.account_id === accountId ? named : null;
}

/** Sorts a batch. Pure: the same batch and the same knowledge give the same work. */
export function sortWebhooks(batch: readonly ReadWebhooks[], known: Known): SortedReports {
  const statuses: Status[] = [];
  const replies: ReplyReport[] = [];
  const done: number[] = [];
  const later: SortedReports["later"][number][] = [];
  const side_effects: { id: number; side_effects: SideEffect[] }[] = [];
  let dropped = 0;
  for (const { row, reports } of batch) {
    const sorted = reports.map((of) => sortOne(of, known));
    statuses.push(...sorted.flatMap((one) => one.statuses));
    replies.push(...sorted.flatMap((one) => one.replies));
    const body = row.body.filter((_, i) => sorted[i]!.unknown > 0);
    const { driver, received_at } = row;
    const due_at = nextTry(received_at, known.now, unknown_kept_ms);
    if (body.length > 0 && due_at) later.push({ driver, body, received_at, due_at });
    if (!due_at) dropped += sorted.reduce((sum, one) => sum + one.unknown, 0);
    const here = sorted.flatMap((one) => one.side_effects);
    if (here.length > 0) side_effects.push({ id: row.id, side_effects: here });
    else done.push(row.id);
  }
  return { moves: furthestMoves(statuses), replies, done, later, side_effects, dropped };
}

function sortOne(reports: readonly ReadReport[], known: Known) {
  const statuses: Status[] = [];
  const replies: ReplyReport[] = [];
  const side_effects: SideEffect[] = [];
  let unknown = 0;
  for (const report of reports) {
    if (report.kind === "status") {
      const dispatch =
        namedDispatch(known.account_id, report) ??
        known.byProviderId.get(report.provider_message_id);
      if (!dispatch) {
        unknown++;
        continue;
      }
      statuses.push({ dispatch, report });
      if (report.status === "failed" && report.code === opted_out_code)
        side_effects.push({ kind: "refused_by_customer", dispatch, at: report.at });
    } else if (report.kind === "reply") {
      if (report.text !== null && known.isStopWord(report.text))
        side_effects.push({ kind: "opt_out", reply: report });
      else replies.push(report);
    } else side_effects.push(report);
  }
  return { statuses, replies, side_effects, unknown };
}

/** After as long as it has waited already, at least a second; null when it waited for `kept_ms`. */
export function nextTry(received_at: Date, now: Date, kept_ms: number): Date | null {
  const waited_ms = now.getTime() - received_at.getTime();
  if (waited_ms >= kept_ms) return null;
  return new Date(now.getTime() + Math.max(waited_ms, retry_first_ms));
}
