import type { Tx } from "../../lib/database/database.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";

/**
 * Freezes an account, unless it is: it accepts no writes, and nothing new is sent or called for it. Returns since when
 * it is frozen.
 */
export async function freezeAccount(tx: Tx, actor: Actor, now: Date): Promise<Date> {
  const frozen_at = await lockFreeze(tx, actor.account_id);
  if (frozen_at) return frozen_at;
  await tx
    .updateTable("accounts")
    .set({ frozen_at: now })
    .where("account_id", "=", actor.account_id)
    .execute();
  await recordAudit(tx, actor, {
    at: now,
    action: "account.frozen",
    subject_id: actor.account_id,
  });
  return now;
}

/** Ends the freeze of an account, whose recordings are due for retention now. Returns false if it is not frozen. */
export async function unfreezeAccount(tx: Tx, actor: Actor, now: Date): Promise<boolean> {
  const changed = await tx
    .updateTable("accounts")
    // Of an imported account, retention has kept the recordings until now.
    .set({ frozen_at: null, recordings_due_at: now })
    .where("account_id", "=", actor.account_id)
    .where("frozen_at", "is not", null)
    .returning("account_id")
    .execute();
  if (changed.length === 0) return false;
  await recordAudit(tx, actor, {
    at: now,
    action: "account.unfrozen",
    subject_id: actor.account_id,
  });
  return true;
}

/**
 * Returns since when the account is frozen, or null. Others neither freeze nor unfreeze it until the transaction ends;
 * writes of its rows do not wait.
 */
export async function lockFreeze(tx: Tx, account_id: number): Promise<Date | null> {
  const found = await tx
    .selectFrom("accounts")
    .select("frozen_at")
    .where("account_id", "=", account_id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return found?.frozen_at ?? null;
}
