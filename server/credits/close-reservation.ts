import { sql } from "kysely";
import type { Tx } from "../lib/database/database.ts";

/**
 * Marks a reservation as done with: what it reserved is all captured or released. Refunds may still
 * come. Closed once more, it stays as it was. Throws when credit is left in it, or there is no such
 * reservation: its owner has lost count, which no caller can mend.
 */
export async function closeReservation(
  tx: Tx,
  accountId: number,
  reservationId: number,
  now: Date,
): Promise<void> {
  const closed = await sql`
    update credit_reservations r set closed_at = coalesce(r.closed_at, ${now}::timestamptz)
    where r.account_id = ${accountId} and r.id = ${reservationId}
      and 0 = (
        select sum(case t.type when 'reserve' then t.amount else -t.amount end)
        from credit_transfers t
        where t.account_id = ${accountId} and t.reservation_id = ${reservationId}
          and t.type in ('reserve', 'capture', 'release'))
    returning r.id`.execute(tx);
  if (closed.rows.length === 0)
    throw new Error(
      `reservation ${reservationId} of account ${accountId} has credit left, or does not exist`,
    );
}
