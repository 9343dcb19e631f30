import type { Tx } from "../../lib/database/database.ts";
import { Refusal, notFound } from "../../lib/errors.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { Permission } from "../permissions.ts";
import { refuseStronger, type Grantor } from "./grantor.ts";

/**
 * Deletes a role with its expired invitations. Throws not-found; forbidden when it has a permission that the grantor does
 * not have; conflict while any user, active or not, or any open invitation has it.
 */
export async function deleteRole(tx: Tx, grantor: Grantor, id: number, now: Date): Promise<void> {
  const { actor } = grantor;
  // Locked first: a concurrent assignment of the role waits, and then finds it gone.
  const role = await tx
    .selectFrom("roles")
    .select("permissions")
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!role) throw notFound();
  refuseStronger(grantor, "role", role.permissions as Permission[]);
  const user = await tx
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", actor.account_id)
    .where("role_id", "=", id)
    .limit(1)
    .executeTakeFirst();
  if (user)
    throw new Refusal("conflict", "Users still have this role; give them another one first");
  const invitation = await tx
    .selectFrom("invitations")
    .select("id")
    .where("account_id", "=", actor.account_id)
    .where("role_id", "=", id)
    .where("expires_at", ">", now)
    .limit(1)
    .executeTakeFirst();
  if (invitation)
    throw new Refusal("conflict", "Open invitations still have this role; revoke them first");
  await tx
    .deleteFrom("invitations")
    .where("account_id", "=", actor.account_id)
    .where("role_id", "=", id)
    .execute();
  await tx
    .deleteFrom("roles")
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .execute();
  await recordAudit(tx, actor, { at: now, action: "role.deleted", subject_id: id });
}
