// The state machine of one recipient as a pure table: allowed transitions, their effect on the counts and
// on the ledger. The table chat_transitions holds the same rows.

/**
 * The states as stored. The API shows `refused`, `unresolved` and `undelivered` as `failed`: the provider
 * rejected the message, never confirmed or denied it, or failed to deliver it.
 */
export const recipientStates = [
  "queued",
  "deferred",
  "dispatching",
  "unknown",
  "unresolved",
  "refused",
  "accepted",
  "sent",
  "undelivered",
  "delivered",
  "read",
  "skipped",
  "cancelled",
] as const;
export type RecipientState = (typeof recipientStates)[number];

/**
 * The ledger entry of a transition, one credit per recipient. A refund applies only to a charged
 * recipient, so that no credit is refunded twice.
 */
export type LedgerMove = "" | "capture" | "release" | "refund" | "capture+refund";

/** The campaign count that includes a state (contract 2.2); the three counts always add up to the total. */
export const countOfState = {
  queued: "pending",
  deferred: "pending",
  dispatching: "pending",
  unknown: "pending",
  unresolved: "failed",
  refused: "failed",
  accepted: "sent",
  sent: "sent",
  undelivered: "failed",
  delivered: "sent",
  read: "sent",
  skipped: "failed",
  cancelled: "failed",
} as const satisfies Record<RecipientState, "pending" | "sent" | "failed">;

/** Returns the state as the API shows it. */
export function shownState(state: RecipientState): string {
  return state === "refused" || state === "unresolved" || state === "undelivered"
    ? "failed"
    : state;
}

const capture = "capture";
const none = "";

/**
 * Every allowed transition, but for a retry on request (retry_chat_recipients). Success overrides failure: a message that was unresolved, refused or
 * cancelled and is delivered nevertheless counts as delivered, and its refund stands. A delivery status
 * may arrive before the provider's response.
 */
const table: Readonly<
  Record<RecipientState, Readonly<Partial<Record<RecipientState, LedgerMove>>>>
> = {
  queued: {
    dispatching: none,
    skipped: "release",
    cancelled: "release",
    // From an earlier dispatch that a person marked as failed.
    sent: capture,
    delivered: capture,
    read: capture,
  },
  deferred: {
    dispatching: none,
    skipped: "release",
    cancelled: "release",
    sent: capture,
    delivered: capture,
    read: capture,
  },
  dispatching: {
    deferred: none,
    refused: "release",
    unknown: none,
    accepted: capture,
    sent: capture,
    undelivered: "capture+refund",
    delivered: capture,
    read: capture,
  },
  unknown: {
    // A person resends it, as a new message.
    queued: none,
    deferred: none,
    unresolved: capture,
    // The provider's response, which a sender that lost its lease records late.
    refused: "release",
    accepted: capture,
    sent: capture,
    undelivered: "capture+refund",
    delivered: capture,
    read: capture,
  },
  unresolved: {
    refused: "refund",
    accepted: none,
    sent: none,
    undelivered: "refund",
    delivered: none,
    read: none,
  },
  refused: { sent: none, delivered: none, read: none },
  // Deferred: the provider reported that it delivered nothing, and the message is retried. A message
  // that was reported as sent is never retried.
  accepted: { deferred: none, sent: none, undelivered: "refund", delivered: none, read: none },
  sent: { undelivered: "refund", delivered: none, read: none },
  undelivered: { delivered: none, read: none },
  delivered: { read: none },
  read: {},
  skipped: { sent: none, delivered: none, read: none },
  cancelled: { sent: none, delivered: none, read: none },
};

/** Returns the effect of a transition, or null when it is not allowed. */
export function transition(
  from: RecipientState,
  to: RecipientState,
): { readonly ledger: LedgerMove } | null {
  const ledger = table[from][to];
  return ledger === undefined ? null : { ledger };
}

/**
 * Returns the ledger entry of a transition for a recipient that is charged or not. A credit is
 * captured once: a charged recipient is retried without another capture, and its failure refunds
 * what was captured instead of releasing what is reserved. chat_move_recipients does the same.
 */
export function ledgerEntry(ledger: LedgerMove, charged: boolean): LedgerMove {
  if (!charged) return ledger === "refund" ? "" : ledger;
  if (ledger === "capture") return "";
  return ledger === "release" || ledger === "capture+refund" ? "refund" : ledger;
}

/** Returns every allowed transition, as rows of chat_transitions. */
export function transitionRows(): { from_state: string; to_state: string; ledger: LedgerMove }[] {
  return recipientStates.flatMap((from_state) =>
    recipientStates.flatMap((to_state) => {
      const move = transition(from_state, to_state);
      return move ? [{ from_state, to_state, ledger: move.ledger }] : [];
    }),
  );
}
