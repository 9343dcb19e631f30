import type { Tx } from "../../lib/database/database.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";

/** Freezes an account, unless it is: it accepts no writes, and nothing new is sent or called for it. */
export async function freezeAccount(tx: Tx, actor: Actor, now: Date): Promise<void> {
  const changed = await tx
    .updateTable("accounts")
    .set({ frozen_at: now })
    .where("account_id", "=", actor.account_id)
    .where("frozen_at", "is", null)
    .returning("account_id")
    .execute();
  if (changed.length > 0)
    await recordAudit(tx, actor, {
      at: now,
      action: "account.frozen",
      subject_id: actor.account_id,
    });
}

/** Ends the freeze of an account. Returns false if it is not frozen. */
export async function unfreezeAccount(tx: Tx, actor: Actor, now: Date): Promise<boolean> {
  const changed = await tx
    .updateTable("accounts")
    .set({ frozen_at: null })
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
