import type { Tx } from "../../../lib/database/database.ts";
import type { Permission } from "../../permissions.ts";
import { refuseStronger, type Grantor } from "../../roles/grantor.ts";

/**
 * Finds and locks an invitation that the grantor is about to replace or revoke; returns its ID or null. Throws forbidden
 * when its role has more permissions than the grantor.
 */
export async function findOpenInvitation(
  tx: Tx,
  grantor: Grantor,
  by: { readonly email: string } | { readonly id: number },
): Promise<number | null> {
  const { account_id } = grantor.actor;
  const invitations = tx
    .selectFrom("invitations as i")
    .leftJoin("roles as r", (join) =>
      join.onRef("r.account_id", "=", "i.account_id").onRef("r.id", "=", "i.role_id"),
    )
    .select(["i.id", "r.permissions"])
    .where("i.account_id", "=", account_id);
  const found = await (
    "id" in by ? invitations.where("i.id", "=", by.id) : invitations.where("i.email", "=", by.email)
  )
    .forUpdate("i")
    .executeTakeFirst();
  if (!found) return null;
  refuseStronger(grantor, "invitation", (found.permissions ?? []) as Permission[]);
  return found.id;
}
