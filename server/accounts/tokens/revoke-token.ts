import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { refuseStronger, type Grantor } from "../roles/grantor.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { lockToken } from "./internal/lock-token.ts";
import type { TokenResponse } from "./token-schema.ts";
import { findToken } from "./tokens.ts";

/**
 * Revokes a token immediately; a revoked token stays as it is. Throws not-found; forbidden when it has more permissions
 * than the grantor, whose own token it is not.
 */
export async function revokeToken(
  tx: Tx,
  grantor: Grantor,
  id: number,
  now: Date,
): Promise<TokenResponse> {
  const { actor } = grantor;
  const token = await lockToken(tx, actor.account_id, id);
  if (!token) throw notFound();
  if (id !== actor.token_id)
    refuseStronger(grantor, "token", grantedPermissions(token, token.scopes));
  const revoked = await tx
    .updateTable("tokens")
    .set({ revoked_at: now })
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .returning("id")
    .executeTakeFirst();
  if (revoked) await recordAudit(tx, actor, { at: now, action: "token.revoked", subject_id: id });
  return findToken(tx, actor.account_id, id);
}
