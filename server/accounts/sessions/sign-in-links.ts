// A link that signs its user in once: an invitation, or for a new password.
import type { App } from "../../engine/app.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { refuseBeyond, type Grantor } from "../roles/grantor.ts";
import { hashSecret, newSecret } from "../tokens/token-text.ts";
import { createSession } from "./create-session.ts";
import { hashPassword } from "./passwords.ts";
import { endSessions } from "./end-sessions.ts";
import { storePassword } from "./set-password.ts";

const hour_ms = 3_600_000;
/** How long a link that a person sends on stays valid. */
const link_hours_max = 72;

export type SignInLink = {
  /** On the service's address; the secret follows `#`, which no server log shows. */
  readonly path: string;
  readonly expires_at: string;
};

/**
 * Creates a link for an active user. Throws not-found; forbidden for a user with more permissions than the grantor.
 */
export async function createSignInLink(
  tx: Tx,
  grantor: Grantor,
  user_id: number,
  now: Date,
  hours = link_hours_max,
): Promise<SignInLink> {
  const { account_id } = grantor.actor;
  const user = await tx
    .selectFrom("users as u")
    .leftJoin("roles as r", (join) =>
      join.onRef("r.account_id", "=", "u.account_id").onRef("r.id", "=", "u.role_id"),
    )
    .select(["u.is_owner", "r.permissions as role_permissions"])
    .where("u.account_id", "=", account_id)
    .where("u.id", "=", user_id)
    .where("u.active", "=", true)
    .executeTakeFirst();
  if (!user) throw notFound();
  refuseBeyond(grantor, grantedPermissions(user));
  const secret = newSecret();
  const expires_at = new Date(now.getTime() + hours * hour_ms);
  const { id } = await tx
    .insertInto("sign_in_links")
    .values({ account_id, user_id, secret_sha256: hashSecret(secret), expires_at, created_at: now })
    .returning("id")
    .executeTakeFirstOrThrow();
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "sign_in_link.created",
    subject_id: user_id,
    detail: { expires_at },
  });
  return { path: `/sign-in#${account_id}_${id}_${secret}`, expires_at: expires_at.toISOString() };
}

const form = /^([1-9][0-9]{0,15})_([1-9][0-9]{0,15})_([0-9a-f]{64})$/;

/**
 * Uses a link up, sets the password where one is given (which ends the user's other sessions), and returns the text of
 * the session's cookie. Throws unauthorized for a link that is unknown, used or expired.
 */
export async function useSignInLink(
  app: App,
  { link, password }: { readonly link: string; readonly password: string | null },
  request_id: string,
): Promise<string> {
  const [, account, id, secret] = form.exec(link) ?? [];
  if (secret === undefined) throw unusable();
  const account_id = Number(account);
  // Before the transaction: hashing takes longer than a row should be locked.
  const password_hash = password === null ? null : await hashPassword(password);
  const now = app.clock.now();
  return app.db.query.transaction().execute(async (tx) => {
    const used = await tx
      .updateTable("sign_in_links as l")
      .from("users as u")
      .set({ used_at: now })
      .where("l.account_id", "=", account_id)
      .where("l.id", "=", Number(id))
      .where("l.secret_sha256", "=", hashSecret(secret))
      .where("l.used_at", "is", null)
      .where("l.expires_at", ">", now)
      .whereRef("u.account_id", "=", "l.account_id")
      .whereRef("u.id", "=", "l.user_id")
      .where("u.active", "=", true)
      .returning("u.id as user_id")
      .executeTakeFirst();
    if (!used) throw unusable();
    const { user_id } = used;
    if (password_hash !== null) {
      await endSessions(tx, { account_id, user_id, token_id: null, request_id }, now, null);
      await storePassword(tx, { account_id, user_id, password_hash }, now);
    }
    return createSession(tx, { account_id, user_id, request_id }, now);
  });
}

function unusable(): Refusal {
  return new Refusal(
    "unauthorized",
    "This link was used already or has expired; ask for a new one",
  );
}
