import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { Grantor } from "../roles/grantor.ts";
import { findOpenInvitation } from "./internal/find-open-invitation.ts";

/**
 * Revokes an invitation. Throws not-found, also for one that was accepted; forbidden when its role has more permissions
 * than the grantor.
 */
export async function revokeInvitation(
  tx: Tx,
  grantor: Grantor,
  id: number,
  now: Date,
): Promise<void> {
  if ((await findOpenInvitation(tx, grantor, { id })) === null) throw notFound();
  await tx
    .deleteFrom("invitations")
    .where("account_id", "=", grantor.actor.account_id)
    .where("id", "=", id)
    .execute();
  await recordAudit(tx, grantor.actor, { at: now, action: "invitation.revoked", subject_id: id });
}
