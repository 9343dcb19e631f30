import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { refuseTakenName } from "./create-role.ts";
import { refuseBeyond, refuseStronger, type Grantor } from "./grantor.ts";
import type { Permission } from "../permissions.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { RoleResponse, RolePatch } from "./role-schema.ts";
import { role_columns, roleResponse } from "./roles.ts";

/**
 * Changes a role, and thereby the permissions of its users. Throws not-found; forbidden when it has
 * or gets a permission that the grantor does not have; validation-failed (name taken).
 */
export async function updateRole(
  tx: Tx,
  grantor: Grantor,
  id: number,
  patch: RolePatch,
  now: Date,
): Promise<RoleResponse> {
  const { account_id } = grantor.actor;
  const before = await tx
    .selectFrom("roles")
    .select("permissions")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!before) throw notFound();
  refuseStronger(grantor, "role", before.permissions as Permission[]);
  refuseBeyond(grantor, patch.permissions ?? []);
  const role = await tx
    .updateTable("roles")
    .set({ ...patch, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returning(role_columns)
    .executeTakeFirstOrThrow()
    .catch(refuseTakenName);
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "role.updated",
    subject_id: id,
    detail: {
      changed: Object.keys(patch),
      ...(patch.permissions ? { permissions: patch.permissions } : {}),
    },
  });
  return roleResponse(role);
}
