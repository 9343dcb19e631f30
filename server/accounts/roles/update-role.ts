import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { refuseTakenName } from "./create-role.ts";
import { refuseBeyond, type Grantor } from "./grantor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { RoleResponse, RolePatch } from "./role-schema.ts";
import { role_columns, roleResponse } from "./roles.ts";

/**
 * Changes a role, and thereby the permissions of its users. Throws not-found; forbidden when it adds
 * a permission that the grantor does not have; validation-failed (name taken).
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
  const added = (patch.permissions ?? []).filter((name) => !before.permissions.includes(name));
  refuseBeyond(grantor, added);
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
