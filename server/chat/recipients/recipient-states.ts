// The life of one message to one recipient, as one pure table: which state may follow which, what
// that means in counts, and what it moves in the ledger. SQL carries the same rows (chat_transitions).

/**
 * The states as stored. `refused`, `unresolved` and `undelivered` are shown as `failed`: the provider
 * said no, never said anything, or said later that it could not.
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
 * What a transition moves in the ledger, per recipient one credit. A refund is one only for a
 * recipient that is charged: what a refused one was given back is not given back again.
 */
export type LedgerMove = "" | "capture" | "release" | "refund" | "capture+refund";

/** What a campaign's three counts make of a state (contract 2.2): together they are always the total. */
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

/** The state as the API shows it. */
export function shownState(state: RecipientState): string {
  return state === "refused" || state === "unresolved" || state === "undelivered"
    ? "failed"
    : state;
}

const capture = "capture";
const none = "";

/**
 * Every allowed move; what is not here does not happen. Good news beats bad: a message that was given
 * up, refused or cancelled and is delivered all the same counts as delivered, and what was given
 * back for it stays given back. A status may overtake the provider's own answer.
 */
const table: Readonly<
  Record<RecipientState, Readonly<Partial<Record<RecipientState, LedgerMove>>>>
> = {
  queued: {
    dispatching: none,
    skipped: "release",
    cancelled: "release",
    // Of an earlier dispatch that an operator had given up.
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
    // An operator sends it again, as a new message.
    queued: none,
    unresolved: capture,
    accepted: capture,
    sent: capture,
    undelivered: "capture+refund",
    delivered: capture,
    read: capture,
  },
  unresolved: { accepted: none, sent: none, undelivered: "refund", delivered: none, read: none },
  refused: { sent: none, delivered: none, read: none },
  accepted: { sent: none, undelivered: "refund", delivered: none, read: none },
  sent: { undelivered: "refund", delivered: none, read: none },
  undelivered: { delivered: none, read: none },
  delivered: { read: none },
  read: {},
  skipped: { sent: none, delivered: none, read: none },
  cancelled: { sent: none, delivered: none, read: none },
};

/** What a move means, or null when it is not allowed. */
export function transition(
  from: RecipientState,
  to: RecipientState,
): { readonly ledger: LedgerMove } | null {
  const ledger = table[from][to];
  return ledger === undefined ? null : { ledger };
}

/** Every allowed move, as the rows of chat_transitions. */
export function transitionRows(): { from_state: string; to_state: string; ledger: LedgerMove }[] {
  return recipientStates.flatMap((from_state) =>
    recipientStates.flatMap((to_state) => {
      const move = transition(from_state, to_state);
      return move ? [{ from_state, to_state, ledger: move.ledger }] : [];
    }),
  );
}
