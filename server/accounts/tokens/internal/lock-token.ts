import type { Tx } from "../../../lib/database/database.ts";

/** Locks a token and returns it with what its user may do; undefined if the account has none with this ID. */
export async function lockToken(tx: Tx, account_id: number, id: number) {
  return (
    tx
      .selectFrom("tokens as t")
      .innerJoin("users as u", (join) =>
        join.onRef("u.account_id", "=", "t.account_id").onRef("u.id", "=", "t.user_id"),
      )
      .leftJoin("roles as r", (join) =>
        join.onRef("r.account_id", "=", "u.account_id").onRef("r.id", "=", "u.role_id"),
      )
      .select([
        "t.kind",
        "t.user_id",
        "t.name",
        "t.scopes",
        "t.expires_at",
        "t.allowed_addresses",
        "t.revoked_at",
        "t.created_by",
        "u.active",
        "u.is_owner",
        "r.permissions as role_permissions",
      ])
      .where("t.account_id", "=", account_id)
      .where("t.id", "=", id)
      // Of two concurrent changes, the second sees the result of the first.
      .forUpdate("t")
      .executeTakeFirst()
  );
}
