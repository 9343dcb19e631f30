// All passkeys of a user are removed together when somebody else may have added one, or have the device.
import type { Tx } from "../../lib/database/database.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";

/** Removes every passkey of a user, who is locked, and returns how many there were. */
export async function dropPasskeys(
  tx: Tx,
  actor: Actor,
  user_id: number,
  now: Date,
): Promise<number> {
  const removed = await tx
    .deleteFrom("user_passkeys")
    .where("account_id", "=", actor.account_id)
    .where("user_id", "=", user_id)
    .returning("id")
    .execute();
  for (const { id } of removed)
    await recordAudit(tx, actor, {
      at: now,
      action: "passkey.removed",
      subject_id: id,
      detail: { user_id },
    });
  return removed.length;
}
