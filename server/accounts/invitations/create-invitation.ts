import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { Grantor } from "../roles/grantor.ts";
import { writeLink } from "../sessions/link-text.ts";
import { hashSecret, newSecret } from "../tokens/token-text.ts";
import { validateUser } from "../users/validate-user.ts";
import { findOpenInvitation } from "./internal/find-open-invitation.ts";
import type { InvitationResponse, NewInvitation } from "./invitation-schema.ts";
import { invitation_columns, invitationResponse } from "./invitations.ts";

const valid_hours = 72;
/** Open invitations of an account, without expired ones. */
const invitations_max = 1_000;

/**
 * Invites an email address with a role; a further invitation to an address replaces the one before, whose link no longer
 * works. Throws validation-failed (email taken, role unknown); forbidden when the role, or that of the replaced
 * invitation, has more permissions than the grantor; conflict beyond 1,000 open invitations.
 */
export async function createInvitation(
  tx: Tx,
  grantor: Grantor,
  invitation: NewInvitation,
  now: Date,
): Promise<InvitationResponse & { readonly path: string | null }> {
  const { account_id, user_id, token_id } = grantor.actor;
  const email = invitation.email.toLowerCase();
  const role_id = await validateUser(tx, grantor, {
    id: null,
    email,
    role_id: invitation.role_id ?? null,
  });
  await findOpenInvitation(tx, grantor, { email });
  await refuseTooMany(tx, { account_id, email }, now);
  const secret = newSecret();
  const values = {
    role_id,
    invited_by: user_id,
    invited_by_token: token_id,
    secret_sha256: hashSecret(secret),
    expires_at: new Date(now.getTime() + valid_hours * 3_600_000),
    created_at: now,
  };
  const row = await tx
    .insertInto("invitations")
    .values({ account_id, email, ...values })
    .onConflict((conflict) => conflict.columns(["account_id", "email"]).doUpdateSet(values))
    .returning(invitation_columns)
    .executeTakeFirstOrThrow();
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "invitation.created",
    subject_id: row.id,
    detail: { role_id, expires_at: row.expires_at },
  });
  const link = writeLink({ account_id, id: row.id, secret });
  return { ...invitationResponse(row), path: `/sign-in/invitation#${link}` };
}

/** Throws conflict if the account has too many open invitations without the one that this address replaces. */
async function refuseTooMany(
  tx: Tx,
  { account_id, email }: { readonly account_id: number; readonly email: string },
  now: Date,
): Promise<void> {
  const { open } = await tx
    .selectFrom("invitations")
    .select((eb) => eb.fn.countAll<number>().as("open"))
    .where("account_id", "=", account_id)
    .where("email", "!=", email)
    .where("expires_at", ">", now)
    .executeTakeFirstOrThrow();
  if (open >= invitations_max)
    throw new Refusal(
      "conflict",
      `An account has at most ${invitations_max} open invitations; revoke some of them first`,
    );
}
