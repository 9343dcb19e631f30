import { sql } from "kysely";
import type { Tx } from "../lib/database/database.ts";
import { Refusal } from "../lib/errors.ts";

/**
 * Reserves `amount` (1 or more) more credit under a reservation, which may be closed already. Refuses:
 * insufficient-credit; roll back, nothing else is changed. Locks the balance, which must be the caller's last
 * lock.
 */
export async function extendReservation(
  tx: Tx,
  { account_id, id, amount }: { account_id: number; id: number; amount: number },
  now: Date,
): Promise<void> {
  const { rows } = await sql<{ kind: string }>`
    with reservation as materialized (
      update credit_reservations set closed_at = null
      where account_id = ${account_id} and id = ${id}
      returning kind
    ), taken as materialized (
      select r.kind, draw_credits(${account_id}, r.kind, ${amount}, ${now}) as done
      from reservation r
    )
    insert into credit_transfers
      (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
    select ${account_id}::bigint, t.kind, 'reserve', 'available', 'reserved', ${amount}::bigint,
      ${id}::bigint, ${now}::timestamptz
    from taken t where t.done
    returning kind`.execute(tx);
  if (rows.length === 0)
    throw new Refusal("insufficient-credit", `There is not enough credit: ${amount} needed`);
}
