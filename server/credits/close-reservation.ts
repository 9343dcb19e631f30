import { sql } from "kysely";
import type { Tx } from "../lib/database/database.ts";

/**
 * Closes a reservation whose credit is all captured or released; refunds are still possible. Closing it
 * again has no effect. Throws if it does not exist or still has credit: its owner's counts are wrong, which
 * no caller can correct.
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
      and 0 = r.folded_reserved - r.folded_captured - r.folded_released + (
        select coalesce(sum(case when t.type = 'reserve' then t.amount else -t.amount end), 0)
        from credit_transfers t
        where t.account_id = ${accountId} and t.reservation_id = ${reservationId}
          and t.type in ('reserve', 'capture', 'release'))
    returning r.id`.execute(tx);
  if (closed.rows.length === 0)
    throw new Error(
      `reservation ${reservationId} of account ${accountId} still has credit or does not exist`,
    );
}
