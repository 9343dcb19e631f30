/** Chat credit pays for messages, call credit for pulses of calls. */
export const creditKinds = ["chat", "call"] as const;
export type CreditKind = (typeof creditKinds)[number];

/** The most that one grant gives, and that a grant may bring a balance to: sums stay below 2^53. */
export const grant_max = 1_000_000_000_000;
export const available_max = 1_000_000_000_000_000;

/** `amount` is an integer from 1 to `grant_max`; `note` is what the operator has to say about it. */
export type CreditGrant = {
  readonly kind: CreditKind;
  readonly amount: number;
  readonly note: string | null;
};

/** A grant as it stands in the ledger, by its transfer's id, and what is available after it. */
export type GrantedCredits = CreditGrant & { readonly id: number; readonly available: number };
