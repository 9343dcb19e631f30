import type { Tx } from "../../lib/database/database.ts";
import { Refusal, notFound } from "../../lib/errors.ts";
import { createToken } from "./create-token.ts";
import { lockToken } from "./internal/lock-token.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { refuseBeyond, type Grantor } from "../roles/grantor.ts";
import { refuseOwnerToken, refuseStrongerTokenUser, type Issued } from "./issue-token.ts";
import type { Permission } from "../permissions.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { TokenRotation } from "./token-schema.ts";
import { findToken } from "./tokens.ts";

/**
 * Replaces a token with a new one of the same kind, user, name, scopes, addresses and expiry (a rotation never
 * extends the expiry); the old token expires after the overlap. Throws not-found; conflict when it is
 * revoked, expired or its user inactive; forbidden when it, or another user whose it is, has more permissions than the
 * grantor.
 */
export async function rotateToken(
  tx: Tx,
  grantor: Grantor,
  id: number,
  rotation: TokenRotation,
  now: Date,
): Promise<Issued> {
  const { account_id } = grantor.actor;
  const old = await lockToken(tx, account_id, id);
  if (!old) throw notFound();
  const kind = old.kind as "account" | "agent";
  refuseOwnerToken(grantor, kind);
  refuseBeyond(grantor, grantedPermissions(old, old.scopes));
  refuseStrongerTokenUser(grantor, old.user_id, grantedPermissions(old));
  if (old.revoked_at || (old.expires_at && old.expires_at <= now) || !old.active)
    throw new Refusal(
      "conflict",
      "This token is expired, revoked or of an inactive user, and cannot be rotated",
    );
  const issued = await createToken(
    tx,
    {
      account_id,
      kind,
      user_id: old.user_id,
      name: old.name,
      scopes: old.scopes as Permission[] | null,
      expires_at: old.expires_at,
      allowed_addresses: old.allowed_addresses,
      created_by: grantor.actor.user_id ?? old.created_by,
    },
    now,
  );
  const overlap_seconds = rotation.overlap_seconds ?? 0;
  const overlap_ends = new Date(now.getTime() + overlap_seconds * 1_000);
  if (!old.expires_at || old.expires_at > overlap_ends) {
    await tx
      .updateTable("tokens")
      .set({ expires_at: overlap_ends })
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .execute();
  }
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "token.rotated",
    subject_id: id,
    detail: { new_token_id: issued.id, overlap_seconds },
  });
  return { answer: await findToken(tx, account_id, issued.id), token: issued.token };
}
