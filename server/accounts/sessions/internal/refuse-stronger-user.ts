import type { Tx } from "../../../lib/database/database.ts";
import { notFound, Refusal } from "../../../lib/errors.ts";
import { grantedPermissions } from "../../roles/granted-permissions.ts";
import { refuseStronger, type Grantor } from "../../roles/grantor.ts";

/**
 * Throws not-found; forbidden for a user with more permissions than the grantor, and for the grantor's own user, with
 * `own_advice` as the detail.
 */
export async function refuseStrongerUser(
  tx: Tx,
  grantor: Grantor,
  user_id: number,
  own_advice: string,
): Promise<void> {
  const { account_id } = grantor.actor;
  if (user_id === grantor.actor.user_id) throw new Refusal("forbidden", own_advice);
  const user = await tx
    .selectFrom("users as u")
    .leftJoin("roles as r", (join) =>
      join.onRef("r.account_id", "=", "u.account_id").onRef("r.id", "=", "u.role_id"),
    )
    .select(["u.is_owner", "r.permissions as role_permissions"])
    .where("u.account_id", "=", account_id)
    .where("u.id", "=", user_id)
    .executeTakeFirst();
  if (!user) throw notFound();
  refuseStronger(grantor, "user", grantedPermissions(user));
}
