// What is to be done with a batch of webhooks, worked out before anything is changed.
import type { Report } from "../../drivers/chat/driver.ts";
import { readMessageId } from "../message-id.ts";
import {
  furthestMoves,
  type Dispatch,
  type ReportMove,
  type StatusReport,
} from "./furthest-moves.ts";
import type { StoredWebhook } from "./inbox.ts";
import type { ReadReport } from "./read-reports.ts";

/** The provider's code for a customer who does not want to hear from us. */
const opted_out_code = 131050;
/** How long a status may be ahead of the sender's record of its message. */
const unknown_kept_ms = 600_000;
const retry_first_ms = 1_000;

export type ReplyReport = Extract<Report, { kind: "reply" }>;

export type ReadWebhook = {
  readonly webhook: StoredWebhook;
  readonly reports: readonly ReadReport[];
};

/** What needs verbs of its own, in a transaction of its own. */
export type Matter =
  | { readonly kind: "opt_out"; readonly reply: ReplyReport }
  | { readonly kind: "refused_by_customer"; readonly dispatch: Dispatch; readonly at: Date }
  | Extract<ReadReport, { kind: "preference" | "template" | "account" }>;

export type SortedReports = {
  readonly moves: readonly ReportMove[];
  /** Replies that are only kept. */
  readonly replies: readonly ReplyReport[];
  /** Webhooks that are done with once moves and replies are applied. */
  readonly done: readonly number[];
  /** Statuses of messages that are not known yet: looked at again. */
  readonly later: readonly { readonly id: number; readonly due_at: Date }[];
  /** By webhook; `last` when nothing else of it is left to do. */
  readonly matters: readonly {
    readonly id: number;
    readonly matters: readonly Matter[];
    readonly last: boolean;
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
export function sortReports(batch: readonly ReadWebhook[], known: Known): SortedReports {
  const statuses: { dispatch: Dispatch; report: StatusReport }[] = [];
  const replies: ReplyReport[] = [];
  const done: number[] = [];
  const later: { id: number; due_at: Date }[] = [];
  const matters: { id: number; matters: Matter[]; last: boolean }[] = [];
  let dropped = 0;
  for (const { webhook, reports } of batch) {
    const sorted = sortOne(reports, known);
    statuses.push(...sorted.statuses);
    replies.push(...sorted.replies);
    const due_at =
      sorted.unknown > 0 ? nextTry(webhook.received_at, known.now, unknown_kept_ms) : null;
    if (due_at) later.push({ id: webhook.id, due_at });
    else dropped += sorted.unknown;
    if (sorted.matters.length > 0)
      matters.push({ id: webhook.id, matters: sorted.matters, last: due_at === null });
    else if (!due_at) done.push(webhook.id);
  }
  return { moves: furthestMoves(statuses), replies, done, later, matters, dropped };
}

function sortOne(reports: readonly ReadReport[], known: Known) {
  const statuses: { dispatch: Dispatch; report: StatusReport }[] = [];
  const replies: ReplyReport[] = [];
  const matters: Matter[] = [];
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
        matters.push({ kind: "refused_by_customer", dispatch, at: report.at });
    } else if (report.kind === "reply") {
      if (report.text !== null && known.isStopWord(report.text))
        matters.push({ kind: "opt_out", reply: report });
      else replies.push(report);
    } else matters.push(report);
  }
  return { statuses, replies, matters, unknown };
}

/** After as long as it has waited already, at least a second; null when it waited for `kept_ms`. */
export function nextTry(received_at: Date, now: Date, kept_ms: number): Date | null {
  const waited_ms = now.getTime() - received_at.getTime();
  if (waited_ms >= kept_ms) return null;
  return new Date(now.getTime() + Math.max(waited_ms, retry_first_ms));
}
