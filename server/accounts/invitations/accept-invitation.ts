// An invitation is accepted with its link alone, while its inviter could still send it.
import type { Kysely } from "kysely";
import type { App } from "../../engine/app.ts";
import type { DB } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { refuseFrozen } from "../accounts/is-frozen.ts";
import { recordAudit, type Client } from "../audit/record-audit.ts";
import { operatorOf } from "../roles/grantor.ts";
import { createSession } from "../sessions/create-session.ts";
import { readLink, type LinkParts } from "../sessions/link-text.ts";
import { hashPassword } from "../sessions/passwords.ts";
import { storePassword } from "../sessions/set-password.ts";
import { lookUpFrom } from "../sessions/throttle.ts";
import type { Permission } from "../permissions.ts";
import { mayStillGrant } from "../tokens/recorded-grantor.ts";
import { hashSecret } from "../tokens/token-text.ts";
import { createUser } from "../users/create-user.ts";
import type { InvitationAcceptance, OpenedInvitation } from "./invitation-schema.ts";

/** Returns what an invitation's page shows. Throws unauthorized for a link that is not valid any more. */
export async function openInvitation(
  db: Kysely<DB>,
  { link, address }: { readonly link: string; readonly address: string },
  now: Date,
): Promise<OpenedInvitation> {
  const parts = readLink(link);
  if (!parts) throw unusable();
  const { email, account, expires_at } = await lookUpFrom(address, () => findValid(db, parts, now));
  return { email, account, expires_at: expires_at.toISOString() };
}

/**
 * Creates the user of an invitation, once, and returns the text of the session's cookie. Throws unauthorized for a link
 * that is unknown, used, expired or revoked, or whose inviter or token may no longer grant its role; validation-failed (email)
 * if it was given to another user meanwhile; unavailable while the account is frozen.
 */
export async function acceptInvitation(
  app: App,
  { link, name, password }: InvitationAcceptance,
  client: Client,
): Promise<string> {
  const parts = readLink(link);
  const now = app.clock.now();
  if (!parts) throw unusable();
  // Only who has the link costs a hash, and before the transaction: hashing takes longer than a row should be locked.
  await lookUpFrom(client.address, () => findValid(app.db.query, parts, now));
  const password_hash = await hashPassword(password, client.address);
  const { account_id } = parts;
  await refuseFrozen(app.db.pool, account_id);
  return app.db.query.transaction().execute(async (tx) => {
    const { email, role_id, invited_by } = await findValid(tx, parts, now, "lock");
    await tx
      .deleteFrom("invitations")
      .where("account_id", "=", account_id)
      .where("id", "=", parts.id)
      .execute();
    const operator = operatorOf(account_id, client.request_id);
    // What the inviter may grant was checked above.
    const grantor = { ...operator, actor: { ...operator.actor, ...client } };
    const { id: user_id } = await createUser(tx, grantor, { name, email, role_id }, now);
    await storePassword(tx, { account_id, user_id, password_hash }, now);
    const actor = { account_id, user_id, token_id: null, ...client };
    await recordAudit(tx, actor, {
      at: now,
      action: "invitation.accepted",
      subject_id: parts.id,
      detail: { user_id, invited_by },
    });
    return createSession(tx, { account_id, user_id, ...client }, now);
  });
}

/** Finds the invitation of a link that may be accepted now. Throws unauthorized. */
async function findValid(
  db: Kysely<DB>,
  { account_id, id, secret }: LinkParts,
  now: Date,
  lock?: "lock",
) {
  const invitations = db
    .selectFrom("invitations as i")
    .innerJoin("accounts as a", "a.account_id", "i.account_id")
    .leftJoin("roles as r", (join) =>
      join.onRef("r.account_id", "=", "i.account_id").onRef("r.id", "=", "i.role_id"),
    )
    .select(["i.email", "i.role_id", "i.invited_by", "i.invited_by_token", "i.expires_at"])
    .select(["a.name as account", "r.permissions"])
    .where("i.account_id", "=", account_id)
    .where("i.id", "=", id)
    .where("i.secret_sha256", "=", hashSecret(secret))
    .where("i.expires_at", ">", now);
  const found = await (lock ? invitations.forUpdate("i") : invitations).executeTakeFirst();
  if (!found) throw unusable();
  const { invited_by, invited_by_token, permissions } = found;
  const granted = (permissions ?? []) as Permission[];
  const inviter = { account_id, user_id: invited_by, token_id: invited_by_token };
  if (!(await mayStillGrant(db, inviter, granted, now))) throw unusable();
  return found;
}

function unusable(): Refusal {
  return new Refusal(
    "unauthorized",
    "This invitation was accepted already, was revoked or has expired; ask for a new one",
  );
}
