// One credit for what is done within one request: spent before it begins, so that a crash leaves
// nothing reserved for ever, and given back when it is known to have failed.
import { statement, type Executor, type Tx } from "../lib/database/database.ts";
import { closeReservation } from "./close-reservation.ts";
import type { CreditKind } from "./credit-schema.ts";
import { reserveCredits } from "./reserve-credits.ts";

const settle = statement("select settle_credits($1, $2, $3, 0, $4, $5)");

/**
 * Reserves and captures one credit for `subject`, which never had one. Returns the reservation's id.
 * Refuses: insufficient-credit. Takes the balance's lock; let it be the caller's last.
 */
export async function spendCredit(
  tx: Tx,
  of: { readonly account_id: number; readonly kind: CreditKind; readonly subject: string },
  now: Date,
): Promise<number> {
  const reservation_id = await reserveCredits(tx, { ...of, amount: 1 }, now);
  await settle(tx, [of.account_id, reservation_id, 1, 0, now]);
  await closeReservation(tx, of.account_id, reservation_id, now);
  return reservation_id;
}

/** Gives back what spendCredit took; to be called once. */
export async function refundCredit(
  db: Executor,
  accountId: number,
  reservationId: number,
  now: Date,
): Promise<void> {
  await settle(db, [accountId, reservationId, 0, 1, now]);
}
