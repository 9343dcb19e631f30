import type { Tx } from "../../lib/database/database.ts";
import { violatesUnique } from "../../lib/database/database-errors.ts";
import { invalidField } from "../../lib/errors.ts";
import { refuseBeyond, type Grantor } from "./grantor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { NewRole, RoleResponse } from "./role-schema.ts";
import { role_columns, roleResponse } from "./roles.ts";

/** Creates a role. Throws forbidden beyond the grantor's permissions, validation-failed (name taken). */
export async function createRole(
  tx: Tx,
  grantor: Grantor,
  role: NewRole,
  now: Date,
): Promise<RoleResponse> {
  refuseBeyond(grantor, role.permissions);
  const { account_id } = grantor.actor;
  const created = await tx
    .insertInto("roles")
    .values({
      account_id,
      name: role.name,
      permissions: role.permissions,
      created_at: now,
      updated_at: now,
    })
    .returning(role_columns)
    .executeTakeFirstOrThrow()
    .catch(refuseTakenName);
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "role.created",
    subject_id: created.id,
    detail: { permissions: role.permissions },
  });
  return roleResponse(created);
}

/** Converts the violated constraint into a 422 on `name`; rethrows any other error. */
export function refuseTakenName(error: unknown): never {
  if (violatesUnique(error, "roles_account_id_name_key"))
    throw invalidField("name", "is already the name of a role");
  throw error;
}
