// What a heap of statuses, in any order and any number of copies, amounts to: one move a recipient.
import type { Report } from "../../../drivers/chat/driver.ts";
import { errorWord } from "../../messages/error-actions.ts";
import type { RecipientState } from "../../recipients/recipient-states.ts";

export type StatusReport = Extract<Report, { kind: "status" }>;

/** The dispatch that a status is about. */
export type Dispatch = {
  readonly campaign_id: number;
  readonly recipient_id: number;
  readonly dispatches: number;
};

/** As chat_move_recipients takes it. */
export type ReportMove = {
  readonly campaign_id: number;
  readonly id: number;
  readonly dispatches: number;
  readonly state: Extract<RecipientState, "sent" | "undelivered" | "delivered" | "read">;
  readonly provider_message_id: string;
  readonly error_code: number | null;
  readonly error: string | null;
  readonly at: Date;
};

/** How far each status is, in the order of the recipients' states. */
const ranks = { sent: 1, failed: 2, delivered: 3, read: 4 } as const satisfies Record<
  StatusReport["status"],
  number
>;

/** A status, and which dispatch it is about. */
export type Status = { readonly dispatch: Dispatch; readonly report: StatusReport };

/** For each recipient the move that goes furthest. A failure counts only for the latest dispatch. */
export function furthestMoves(statuses: readonly Status[]): ReportMove[] {
  const furthest = new Map<string, Status>();
  for (const status of statuses) {
    const { campaign_id, recipient_id } = status.dispatch;
    const key = `${campaign_id}.${recipient_id}`;
    const known = furthest.get(key);
    if (!known || goesFurther(status, known)) furthest.set(key, status);
  }
  return [...furthest.values()].map(moveOf);
}

function goesFurther(status: Status, known: Status): boolean {
  const isSame = status.dispatch.dispatches === known.dispatch.dispatches;
  if (isSame) return ranks[status.report.status] > ranks[known.report.status];
  const [bad, knownBad] = [isFailure(status), isFailure(known)];
  // Of an earlier dispatch only good news counts, and any good news beats another's failure.
  if (bad !== knownBad) return knownBad;
  return bad
    ? status.dispatch.dispatches > known.dispatch.dispatches
    : ranks[status.report.status] > ranks[known.report.status];
}

function isFailure({ report }: Status): boolean {
  return report.status === "failed";
}

function moveOf({ dispatch, report }: Status): ReportMove {
  const failed = report.status === "failed";
  return {
    campaign_id: dispatch.campaign_id,
    id: dispatch.recipient_id,
    dispatches: dispatch.dispatches,
    state: report.status === "failed" ? "undelivered" : report.status,
    provider_message_id: report.provider_message_id,
    error_code: failed ? report.code : null,
    error: failed ? errorWord(report.code) : null,
    at: report.at,
  };
}
