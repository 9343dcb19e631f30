// One credit for an operation within one request. It is spent before the operation, so that a crash cannot
// keep it reserved forever, and refunded when the operation is known to have failed.
import { statement, type Tx } from "../lib/database/database.ts";
import { closeReservation } from "./close-reservation.ts";
import type { CreditKind } from "./credit-schema.ts";
import { reserveCredits } from "./reserve-credits.ts";

const settle = statement("select settle_credits($1, $2, $3, 0, $4, $5)");

/**
 * Reserves and captures one credit for `subject`, which must have no reservation. Returns the reservation's
 * id. Refuses: insufficient-credit. Locks the balance, which must be the caller's last lock.
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

const lockReservation = statement(`
  select from credit_reservations where account_id = $1 and id = $2 for no key update`);
const findRefund = statement(`
  select from credit_transfers where account_id = $1 and reservation_id = $2 and type = 'refund'`);

/**
 * Refunds the credit of spendCredit. Refunding it again has no effect: when a connection breaks at the commit, the
 * caller does not know whether it was refunded.
 */
export async function refundCredit(
  tx: Tx,
  accountId: number,
  reservationId: number,
  now: Date,
): Promise<void> {
  await lockReservation(tx, [accountId, reservationId]);
  const refunds = await findRefund(tx, [accountId, reservationId]);
  if (refunds.length === 0) await settle(tx, [accountId, reservationId, 0, 1, now]);
}
