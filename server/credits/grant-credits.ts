import { sql } from "kysely";
import { recordAudit, type Actor } from "../accounts/record-audit.ts";
import type { Tx } from "../lib/database.ts";
import { invalidField } from "../lib/errors.ts";
import { available_max, type CreditGrant, type GrantedCredits } from "./credit-schema.ts";

/**
 * Gives the actor's account credit of one kind, as an operator does. The lock of the account's
 * balance is taken here; let it be the caller's last lock. Refuses: validation-failed (amount).
 */
export async function grantCredits(
  tx: Tx,
  actor: Actor,
  grant: CreditGrant,
  now: Date,
): Promise<GrantedCredits> {
  const { account_id } = actor;
  const { kind, amount, note } = grant;
  const { id } = await tx
    .insertInto("credit_transfers")
    .values({
      account_id,
      kind,
      type: "grant",
      from_book: "issued",
      to_book: "available",
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
  const { rows } = await sql<{ available: number }>`
    insert into credit_balances as b (account_id, kind, available)
    values (${account_id}, ${kind}, ${amount})
    on conflict (account_id, kind) do update set available = b.available + excluded.available
      where b.available + excluded.available <= ${available_max}::bigint
    returning available`.execute(tx);
  const balance = rows[0];
  if (!balance) throw invalidField("amount", "would make the balance larger than 10^15");
  return { id, kind, amount, note, available: balance.available };
}
