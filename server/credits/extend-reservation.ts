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
  const { kind } = await tx
    .updateTable("credit_reservations")
    .set({ closed_at: null, folded_at: null })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returning("kind")
    .executeTakeFirstOrThrow();
  const transfer = {
    type: "reserve",
    from_ledger_account: "available",
    to_ledger_account: "reserved",
  };
  await tx
    .insertInto("credit_transfers")
    .values({ account_id, kind, ...transfer, amount, reservation_id: id, at: now })
    .execute();
  const { rows } = await sql<{ done: boolean }>`
    select draw_credits(${account_id}, ${kind}, ${amount}, ${now}) as done`.execute(tx);
  if (rows[0]?.done !== true)
    throw new Refusal("insufficient-credit", `There is not enough credit: ${amount} needed`);
}
