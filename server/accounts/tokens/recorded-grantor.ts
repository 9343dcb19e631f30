// Invitations and sign-in links grant something days after they were made. They count only as long as whoever made them
// could make them again.
import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import type { Permission } from "../permissions.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { permissionsBeyond } from "../roles/grantor.ts";

/** Who made an invitation or a link. */
export type RecordedGrantor = {
  readonly account_id: number;
  /** Null: an operator, or the person themselves; neither loses a permission. */
  readonly user_id: number | null;
  /** With which token; null: it was not recorded. */
  readonly token_id: number | null;
};

/**
 * Returns whether the user is active and, within the scopes of the token, still has users.manage and each of these
 * permissions, and whether the token is neither revoked nor expired, as a replaced one is. A session may have ended,
 * because people sign out.
 */
export async function mayStillGrant(
  db: Kysely<DB>,
  { account_id, user_id, token_id }: RecordedGrantor,
  granted: Iterable<Permission>,
  now: Date,
): Promise<boolean> {
  if (user_id === null) return true;
  const found = await db
    .selectFrom("users as u")
    .leftJoin("roles as r", (join) =>
      join.onRef("r.account_id", "=", "u.account_id").onRef("r.id", "=", "u.role_id"),
    )
    .leftJoin("tokens as t", (join) =>
      join
        .onRef("t.account_id", "=", "u.account_id")
        .onRef("t.user_id", "=", "u.id")
        .on("t.id", "=", token_id),
    )
    .select(["u.is_owner", "r.permissions as role_permissions"])
    .select(["t.kind", "t.scopes", "t.expires_at", "t.revoked_at"])
    .where("u.account_id", "=", account_id)
    .where("u.id", "=", user_id)
    .where("u.active", "=", true)
    .executeTakeFirst();
  if (!found || (token_id !== null && !isInForce(found, now))) return false;
  const held = grantedPermissions(found, found.scopes);
  return permissionsBeyond(held, ["users.manage", ...granted]).length === 0;
}

type TokenState = {
  /** Null: the user has no such token. */
  readonly kind: string | null;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
};

function isInForce({ kind, expires_at, revoked_at }: TokenState, now: Date): boolean {
  if (kind === "session") return true;
  return kind !== null && revoked_at === null && (expires_at === null || expires_at > now);
}
