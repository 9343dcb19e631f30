// Validation that creating and updating a user share: the email is free, the role exists and may be granted.
import type { Tx } from "../../lib/database/database.ts";
import { violatesUnique } from "../../lib/database/database-errors.ts";
import { invalid, invalidField, type FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { refuseBeyond, type Grantor } from "../roles/grantor.ts";
import type { Permission } from "../permissions.ts";

/**
 * Returns the role's ID, or throws every violation at once: validation-failed (email taken by another
 * user, role_id unknown, and `violations`), forbidden when the role has more permissions than the grantor.
 */
export async function validateUser(
  tx: Tx,
  grantor: Grantor,
  user: {
    readonly id: number | null;
    readonly email: string | undefined;
    readonly role_id: number | null;
  },
  violations: readonly FieldError[] = [],
): Promise<number | null> {
  const { account_id } = grantor.actor;
  const role =
    user.role_id === null ? null : await findRolePermissions(tx, account_id, user.role_id);
  const email_taken =
    user.email !== undefined && (await isTaken(tx, account_id, user.email, user.id));
  const found = [
    ...violations,
    ...(email_taken ? [taken_email] : []),
    ...(role === undefined ? [{ field: "role_id", reason: "must be the ID of a role" }] : []),
  ];
  if (found.length > 0) throw invalid(found);
  if (role) refuseBeyond(grantor, role.permissions as Permission[]);
  return role?.id ?? null;
}

const taken_email: FieldError = { field: "email", reason: "is already used by another user" };

/** Converts a conflict with a concurrent request into a 422 on `email`; rethrows any other error. */
export function refuseTakenEmail(error: unknown): never {
  if (violatesUnique(error, "users_account_id_email_key"))
    throw invalidField(taken_email.field, taken_email.reason);
  throw error;
}

async function findRolePermissions(tx: Tx, account_id: number, id: number) {
  return (
    tx
      .selectFrom("roles")
      .select(["id", "permissions"])
      .where("account_id", "=", account_id)
      .where("id", "=", knownId(id))
      // The lock keeps the role from being deleted or extended before the user has it.
      .forShare()
      .executeTakeFirst()
  );
}

async function isTaken(tx: Tx, account_id: number, email: string, ownId: number | null) {
  const user = await tx
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", account_id)
    .where("email", "=", email)
    .executeTakeFirst();
  return user !== undefined && user.id !== ownId;
}
