import type { Tx } from "../../lib/database/database.ts";
import { notFound, type FieldError } from "../../lib/errors.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { refuseStronger, type Grantor } from "../roles/grantor.ts";
import { storeSignInEmail } from "../sign-in-emails.ts";
import { validateUser, refuseTakenEmail } from "./validate-user.ts";
import type { Permission } from "../permissions.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { UserResponse, UserPatch } from "./user-schema.ts";
import { user_columns, userFactors, userResponse } from "./users.ts";

/**
 * Changes a user. Throws not-found; validation-failed (email taken, role unknown, the owner deactivated
 * or given a role); forbidden when the user has or would have more permissions than the grantor.
 */
export async function updateUser(
  tx: Tx,
  grantor: Grantor,
  id: number,
  patch: Omit<UserPatch, "current_password">,
  now: Date,
): Promise<UserResponse> {
  const { account_id } = grantor.actor;
  const before = await tx
    .selectFrom("users")
    .select(user_columns)
    .select(userFactors(account_id))
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!before) throw notFound();
  const changes = {
    ...patch,
    ...(patch.email === undefined ? {} : { email: patch.email.toLowerCase() }),
  };
  const after = { ...before, ...changes };
  refuseStronger(grantor, "user", await permissionsOf(tx, account_id, before));
  // Reactivating a user restores their role's permissions.
  const grants = after.role_id !== before.role_id || (after.active && !before.active);
  await validateUser(
    tx,
    grantor,
    { id, email: changes.email, role_id: grants ? after.role_id : null },
    before.is_owner ? ownerViolations(patch) : [],
  );
  const user = await tx
    .updateTable("users")
    .set({ ...changes, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returning(user_columns)
    .executeTakeFirstOrThrow()
    .catch(refuseTakenEmail);
  if (user.email !== before.email)
    await storeSignInEmail(tx, { account_id, user_id: id, email: user.email });
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "user.updated",
    subject_id: id,
    detail: { changed: Object.keys(patch), role_id: user.role_id, active: user.active },
  });
  const { has_totp, passkeys } = before;
  return userResponse({ ...user, has_totp, passkeys });
}

async function permissionsOf(
  tx: Tx,
  account_id: number,
  user: { readonly is_owner: boolean; readonly role_id: number | null },
): Promise<Set<Permission>> {
  const role = await tx
    .selectFrom("roles")
    .select("permissions")
    .where("account_id", "=", account_id)
    .where("id", "=", user.role_id)
    .executeTakeFirst();
  return grantedPermissions({ ...user, role_permissions: role?.permissions ?? null });
}

function ownerViolations(patch: Pick<UserPatch, "active" | "role_id">): FieldError[] {
  return [
    ...(patch.active === false
      ? [{ field: "active", reason: "must be true for the account's owner" }]
      : []),
    ...(patch.role_id == null
      ? []
      : [{ field: "role_id", reason: "must be null for the owner, who has every permission" }]),
  ];
}
