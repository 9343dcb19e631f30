// Reduces statuses, in any order and with duplicates, to one move per recipient.
import type { WebhookEvent } from "../../../drivers/chat/driver.ts";
import type { RecipientState } from "../../recipients/recipient-states.ts";

export type DeliveryStatus = Extract<WebhookEvent, { kind: "status" }>;

/** The dispatch that a status refers to. */
export type Dispatch = {
  readonly campaign_id: number;
  readonly recipient_id: number;
  readonly dispatches: number;
};

/** A row of chat_move_recipients_json. */
export type StatusMove = {
  readonly campaign_id: number;
  readonly id: number;
  readonly dispatches: number;
  readonly state: Extract<
    RecipientState,
    "sent" | "undelivered" | "deferred" | "delivered" | "read"
  >;
  readonly provider_message_id: string;
  readonly error_code: number | null;
  readonly error: string | null;
  readonly at: Date;
  /** When a reported failure is retried. */
  readonly due_at?: Date;
  readonly recipient_side?: boolean;
};

/** What a failed status does to its recipient. */
export type ReportedFailure = Pick<StatusMove, "error" | "due_at" | "recipient_side"> & {
  readonly state: "undelivered" | "deferred";
};

/** The rank of each status, in the order of the recipients' states. */
export const status_ranks = { sent: 1, failed: 2, delivered: 3, read: 4 } as const satisfies Record<
  DeliveryStatus["status"],
  number
>;

/** A status and its dispatch. */
export type Status = { readonly dispatch: Dispatch; readonly event: DeliveryStatus };

/**
 * Returns the furthest move of each recipient. Of several dispatches the latest counts, unless one was delivered;
 * `failureOf` decides a failure, knowing whether the batch also reports the message as sent.
 */
export function furthestMoves(
  statuses: readonly Status[],
  failureOf: (status: Status, wasSent: boolean) => ReportedFailure,
): StatusMove[] {
  const furthest = new Map<string, Status>();
  const sent = new Set<string>();
  for (const status of statuses) {
    const { dispatches } = status.dispatch;
    const key = recipientKey(status.dispatch);
    if (status.event.status === "sent") sent.add(`${key}.${dispatches}`);
    const known = furthest.get(key);
    if (!known || goesFurther(status, known)) furthest.set(key, status);
  }
  return [...furthest].map(([key, status]) => {
    const wasSent = sent.has(`${key}.${status.dispatch.dispatches}`);
    return isFailure(status) ? failedMove(status, failureOf(status, wasSent)) : moveOf(status);
  });
}

/** Returns a recipient's key in a batch. */
export function recipientKey({ campaign_id, recipient_id }: Dispatch): string {
  return `${campaign_id}.${recipient_id}`;
}

function goesFurther(status: Status, known: Status): boolean {
  const [dispatch, known_dispatch] = [status.dispatch.dispatches, known.dispatch.dispatches];
  // A receipt counts for any dispatch. Otherwise the later one counts: the earlier may have failed and been retried.
  const by_receipt = receiptRank(status) - receiptRank(known);
  if (by_receipt !== 0) return by_receipt > 0;
  if (dispatch !== known_dispatch) return dispatch > known_dispatch;
  return status_ranks[status.event.status] > status_ranks[known.event.status];
}

/** Returns the rank of a status that the recipient has the message; 0 for other statuses. */
function receiptRank({ event: { status } }: Status): number {
  return status === "delivered" || status === "read" ? status_ranks[status] : 0;
}

function isFailure({ event }: Status): boolean {
  return event.status === "failed";
}

function failedMove(status: Status, failure: ReportedFailure): StatusMove {
  return { ...moveOf(status), error_code: status.event.code, ...failure };
}

function moveOf({ dispatch, event }: Status): StatusMove {
  return {
    campaign_id: dispatch.campaign_id,
    id: dispatch.recipient_id,
    dispatches: dispatch.dispatches,
    state: event.status === "failed" ? "undelivered" : event.status,
    provider_message_id: event.provider_message_id,
    error_code: null,
    error: null,
    at: event.at,
  };
}
