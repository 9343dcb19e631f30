// Reduces statuses, in any order and with duplicates, to one move per recipient.
import type { WebhookEvent } from "../../../drivers/chat/driver.ts";
import { errorName } from "../../messages/error-actions.ts";
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
  readonly state: Extract<RecipientState, "sent" | "undelivered" | "delivered" | "read">;
  readonly provider_message_id: string;
  readonly error_code: number | null;
  readonly error: string | null;
  readonly at: Date;
};

/** The rank of each status, in the order of the recipients' states. */
const ranks = { sent: 1, failed: 2, delivered: 3, read: 4 } as const satisfies Record<
  DeliveryStatus["status"],
  number
>;

/** A status and its dispatch. */
export type Status = { readonly dispatch: Dispatch; readonly event: DeliveryStatus };

/** Returns the furthest move of each recipient. A failure counts only for the latest dispatch. */
export function furthestMoves(statuses: readonly Status[]): StatusMove[] {
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
  if (isSame) return ranks[status.event.status] > ranks[known.event.status];
  const [bad, knownBad] = [isFailure(status), isFailure(known)];
  // A failure of an earlier dispatch does not count, and a success of any dispatch outranks a
  // failure.
  if (bad !== knownBad) return knownBad;
  return bad
    ? status.dispatch.dispatches > known.dispatch.dispatches
    : ranks[status.event.status] > ranks[known.event.status];
}

function isFailure({ event }: Status): boolean {
  return event.status === "failed";
}

function moveOf({ dispatch, event }: Status): StatusMove {
  const failed = event.status === "failed";
  return {
    campaign_id: dispatch.campaign_id,
    id: dispatch.recipient_id,
    dispatches: dispatch.dispatches,
    state: event.status === "failed" ? "undelivered" : event.status,
    provider_message_id: event.provider_message_id,
    error_code: failed ? event.code : null,
    error: failed ? errorName(event.code) : null,
    at: event.at,
  };
}
