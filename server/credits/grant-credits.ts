import { sql } from "kysely";
import { recordAudit, type Actor } from "../accounts/audit/record-audit.ts";
import type { Tx } from "../lib/database/database.ts";
import { invalidField } from "../lib/errors.ts";
import { available_max, type CreditGrant } from "./credit-schema.ts";

/**
 * Grants credit of one kind to the actor's account; only operators do this. Returns the transfer's id.
 * Locks the balance, which must be the caller's last lock. Refuses: validation-failed (amount).
 */
export async function grantCredits(
  tx: Tx,
  actor: Actor,
  grant: CreditGrant,
  now: Date,
): Promise<number> {
  const { account_id } = actor;
  const { kind, amount, note = null } = grant;
  const { id } = await tx
    .insertInto("credit_transfers")
    .values({
      account_id,
      kind,
      type: "grant",
      from_ledger_account: "issued",
      to_ledger_account: "available",
      amount,
      at: now,
      note,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await recordAudit(tx, actor, {
    at: now,
    action: "credits.granted",
    subject_id: id,
    detail: { kind, amount },
  });
  const { threshold } = await tx
    .selectFrom("accounts")
    .select(`${kind}_credit_low as threshold`)
    .where("account_id", "=", account_id)
    .executeTakeFirstOrThrow();
  const balance = await sql`
    insert into credit_balances as b (account_id, kind, available)
    values (${account_id}, ${kind}, ${amount}::bigint)
    on conflict (account_id, kind) do update set available = b.available + excluded.available,
      -- A balance above the threshold may send the low-credit event again.
      low = case when b.available + excluded.available < ${threshold}::bigint then b.low end
      where b.available + excluded.available <= ${available_max}::bigint
    returning available`.execute(tx);
  if (balance.rows.length === 0)
    throw invalidField("amount", "must not raise the balance above 10^15");
  return id;
}
