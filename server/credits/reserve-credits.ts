import { sql } from "kysely";
import type { Tx } from "../lib/database/database.ts";
import { Refusal } from "../lib/errors.ts";
import type { CreditKind } from "./credit-schema.ts";

/**
 * Reserves `amount` (1 or more) of available credit for `subject`, such as `chat_campaign:17`, which must
 * have no other reservation. Returns the reservation's id. Refuses: insufficient-credit, with nothing
 * changed. Locks the balance, which must be the caller's last lock.
 */
export async function reserveCredits(
  tx: Tx,
  reservation: { account_id: number; kind: CreditKind; subject: string; amount: number },
  now: Date,
): Promise<number> {
  const { account_id, kind, subject, amount } = reservation;
  // One statement, because other transactions wait while this one holds the lock of the balance.
  const { rows } = await sql<{ id: number }>`
    with taken as materialized (
      select draw_credits(${account_id}, ${kind}, ${amount}, ${now}) as done
    ), reservation as (
      insert into credit_reservations (account_id, kind, subject, created_at)
      select ${account_id}::bigint, ${kind}::text, ${subject}, ${now}::timestamptz
      from taken where done
      returning account_id, kind, id
    ), moved as (
      insert into credit_transfers
        (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
      select account_id, kind, 'reserve', 'available', 'reserved', ${amount}::bigint, id,
        ${now}::timestamptz
      from reservation
    )
    select id from reservation`.execute(tx);
  const reservationRow = rows[0];
  if (!reservationRow)
    throw new Refusal(
      "insufficient-credit",
      `There is not enough ${kind} credit: ${amount} needed`,
    );
  return reservationRow.id;
}
