import type { Tx } from "../../lib/database/database.ts";
import type { Grantor } from "../roles/grantor.ts";
import { storeSignInEmail } from "../sign-in-emails.ts";
import { validateUser, refuseTakenEmail } from "./validate-user.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { NewUser, UserResponse } from "./user-schema.ts";
import { user_columns, userResponse } from "./users.ts";

/**
 * Creates a user, who is never the owner. Throws validation-failed (email taken, role unknown),
 * forbidden when the role has more permissions than the grantor.
 */
export async function createUser(
  tx: Tx,
  grantor: Grantor,
  user: NewUser,
  now: Date,
): Promise<UserResponse> {
  const email = user.email.toLowerCase();
  const role_id = await validateUser(tx, grantor, {
    id: null,
    email,
    role_id: user.role_id ?? null,
  });
  const created = await tx
    .insertInto("users")
    .values({
      account_id: grantor.actor.account_id,
      name: user.name,
      email,
      phone: user.phone ?? null,
      extension: user.extension ?? null,
      role_id,
      active: user.active ?? true,
      created_at: now,
      updated_at: now,
    })
    .returning(user_columns)
    .executeTakeFirstOrThrow()
    .catch(refuseTakenEmail);
  const { account_id } = grantor.actor;
  await storeSignInEmail(tx, { account_id, user_id: created.id, email });
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "user.created",
    subject_id: created.id,
    detail: { role_id, active: created.active },
  });
  return userResponse({ ...created, has_totp: false, passkeys: 0 });
}
