// All passkeys of a user are removed together when somebody else may have added one, or have the device.
import type { Tx } from "../../lib/database/database.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";
import type { Grantor } from "../roles/grantor.ts";
import { endSessionsOf } from "./end-sessions.ts";
import { lockUser } from "./internal/lock-user.ts";
import { refuseStrongerUser } from "./internal/refuse-stronger-user.ts";

/**
 * Removes the passkeys, if there are any, of a user who lost a device, and ends the user's sessions: a passkey may have begun
 * them. Throws not-found; forbidden for a stronger user, and for oneself.
 */
export async function removePasskeysOf(
  tx: Tx,
  grantor: Grantor,
  user_id: number,
  now: Date,
): Promise<void> {
  const { actor } = grantor;
  await refuseStrongerUser(tx, grantor, user_id, "Remove your own passkeys in your profile");
  await lockUser(tx, { account_id: actor.account_id, user_id });
  if ((await dropPasskeys(tx, actor, user_id, now)) > 0)
    await endSessionsOf(tx, actor, user_id, now);
}

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
