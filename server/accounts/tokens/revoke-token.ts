import type { Tx } from "../../lib/database/database.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";
import type { TokenResponse } from "./token-schema.ts";
import { findToken } from "./tokens.ts";

/** Revokes a token immediately; a revoked token stays as it is. Throws not-found. */
export async function revokeToken(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<TokenResponse> {
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
