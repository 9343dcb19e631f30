// A link that signs its user in once, also to set a new password, as long as what justified it holds.
import type { Kysely } from "kysely";
import type { App } from "../../engine/app.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { refuseFrozen } from "../accounts/is-frozen.ts";
import { recordAudit, type Client } from "../audit/record-audit.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { refuseBeyond, type Grantor } from "../roles/grantor.ts";
import { mayStillGrant } from "../tokens/recorded-grantor.ts";
import { hashSecret, newSecret } from "../tokens/token-text.ts";
import { voidSignInLinks } from "../sign-in-emails.ts";
import { accountTokensSubject } from "../tokens/token-directory.ts";
import { findUser } from "../users/users.ts";
import { createSession } from "./create-session.ts";
import { hashPassword } from "./passwords.ts";
import { endSessions } from "./end-sessions.ts";
import { readLink, writeLink, type LinkParts } from "./link-text.ts";
import { holdUser, lockUser } from "./internal/lock-user.ts";
import { passSecondFactor } from "./internal/second-factor.ts";
import { dropPasskeys } from "./remove-passkeys.ts";
import { hasPassword, storePassword } from "./set-password.ts";
import { code_required, type SignInResult } from "./sign-in.ts";
import { lookUpFrom } from "./throttle.ts";

const hour_ms = 3_600_000;
/** How long a link that a person sends on stays valid. */
const link_hours_max = 72;
/** Earlier versions recorded no origin. Their links of an hour were mailed or of a start; those of users lasted longer. */
const unrecorded_ms_max = hour_ms;

/** What justifies a link: a user who manages users, the operator, or its user's own request for a new password. */
type LinkOrigin =
  | {
      readonly origin: "user";
      readonly created_by: number;
      readonly created_by_token: number | null;
    }
  | { readonly origin: "operator" | "reset" };

export type SignInLink = {
  /** On the service's address; the secret follows `#`, which no server log shows. */
  readonly path: string;
  readonly expires_at: string;
};

/**
 * Creates a link for an active user, which works only as long as the grantor could create it again. Throws not-found;
 * forbidden for a user with more permissions than the grantor, and for oneself if one can sign in without a link: a
 * session that was left open must not be enough for a new password.
 */
export async function createSignInLink(
  tx: Tx,
  grantor: Grantor,
  user_id: number,
  now: Date,
  hours = link_hours_max,
): Promise<SignInLink> {
  const { account_id, user_id: created_by, token_id: created_by_token } = grantor.actor;
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
  if (user_id === created_by && (await signsInWithoutLink(tx, account_id, user_id)))
    throw new Refusal(
      "forbidden",
      "Change your own password in your profile. If you forgot it, ask for a mail or someone else who manages users",
    );
  refuseBeyond(grantor, grantedPermissions(user));
  const expires_at = new Date(now.getTime() + hours * hour_ms);
  const origin: LinkOrigin =
    created_by === null ? { origin: "operator" } : { origin: "user", created_by, created_by_token };
  const link = await storeSignInLink(tx, { account_id, user_id, expires_at, ...origin }, now);
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "sign_in_link.created",
    subject_id: user_id,
    detail: { expires_at },
  });
  return { path: `/sign-in#${link}`, expires_at: expires_at.toISOString() };
}

/** Returns whether the user has a password or a passkey. */
async function signsInWithoutLink(tx: Tx, account_id: number, user_id: number): Promise<boolean> {
  const { passkeys } = await findUser(tx, account_id, user_id);
  return passkeys > 0 || (await hasPassword(tx, account_id, user_id));
}

/** Stores a link and returns what follows # in it. */
export async function storeSignInLink(
  tx: Tx,
  link: {
    readonly account_id: number;
    readonly user_id: number;
    readonly expires_at: Date;
  } & LinkOrigin,
  now: Date,
): Promise<string> {
  const secret = newSecret();
  const { id } = await tx
    .insertInto("sign_in_links")
    .values({ ...link, secret_sha256: hashSecret(secret), created_at: now })
    .returning("id")
    .executeTakeFirstOrThrow();
  return writeLink({ account_id: link.account_id, id, secret });
}

/**
 * Uses a link up, sets the password where one is given (which ends the user's other sessions, voids other links and
 * removes passkeys), and signs in. Someone with an authenticator app needs a code first: a mailbox alone is not enough.
 * Throws unauthorized for a link that is unknown, used, expired or no longer justified, or for a wrong code; unavailable
 * for a password of a frozen account.
 */
export async function useSignInLink(
  app: App,
  given: { readonly link: string; readonly password: string | null; readonly code: string | null },
  client: Client,
): Promise<SignInResult> {
  const { password, code } = given;
  const parts = readLink(given.link);
  const now = app.clock.now();
  if (!parts) throw unusable();
  const usable = await lookUpFrom(client.address, () => findUsable(app.db.query, parts, now));
  const { account_id } = parts;
  const owner = { account_id, user_id: usable.user_id };
  if (!(await passSecondFactor(app, owner, code))) return code_required;
  // Before the transaction: hashing takes longer than a row should be locked.
  const password_hash = password === null ? null : await hashPassword(password, client.address);
  if (password !== null) await refuseFrozen(app.db.pool, account_id);
  const cookie = await app.db.query.transaction().execute(async (tx) => {
    // Before the link, as where the email address of a user is changed.
    await (password_hash === null ? holdUser : lockUser)(tx, owner);
    const { user_id, ...detail } = await findUsable(tx, parts, now, "lock");
    const actor = { account_id, user_id, token_id: null, ...client };
    await tx
      .updateTable("sign_in_links")
      .set({ used_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", parts.id)
      .execute();
    await recordAudit(tx, actor, {
      at: now,
      action: "sign_in_link.used",
      subject_id: user_id,
      detail,
    });
    if (password_hash !== null) {
      await endSessions(tx, actor, now, null);
      await dropPasskeys(tx, actor, user_id, now);
      await voidSignInLinks(tx, actor);
      await storePassword(tx, { account_id, user_id, password_hash }, now);
      await recordAudit(tx, actor, { at: now, action: "password.changed", subject_id: user_id });
    }
    return createSession(tx, { account_id, user_id, ...client }, now);
  });
  // The sessions that ended are cached, and may have streams.
  app.notifications.send("token", accountTokensSubject(account_id));
  return { cookie, account: null };
}

type UsableLink = {
  readonly user_id: number;
  readonly origin: string | null;
  readonly created_by: number | null;
  readonly created_by_token: number | null;
};

/** Finds the link of an active user that may be used now. Throws unauthorized. */
async function findUsable(
  db: Kysely<DB>,
  { account_id, id, secret }: LinkParts,
  now: Date,
  lock?: "lock",
): Promise<UsableLink> {
  const links = db
    .selectFrom("sign_in_links as l")
    .innerJoin("users as u", (join) =>
      join.onRef("u.account_id", "=", "l.account_id").onRef("u.id", "=", "l.user_id"),
    )
    .leftJoin("roles as r", (join) =>
      join.onRef("r.account_id", "=", "u.account_id").onRef("r.id", "=", "u.role_id"),
    )
    .select(["l.user_id", "l.origin", "l.created_by", "l.created_by_token"])
    .select(["l.created_at", "l.expires_at", "u.is_owner", "r.permissions as role_permissions"])
    .where("l.account_id", "=", account_id)
    .where("l.id", "=", id)
    .where("l.secret_sha256", "=", hashSecret(secret))
    .where("l.used_at", "is", null)
    .where("l.expires_at", ">", now)
    .where("u.active", "=", true);
  const link = await (lock ? links.forUpdate("l") : links).executeTakeFirst();
  if (!link) throw unusable();
  const { user_id, origin, created_by, created_by_token } = link;
  const creator = { account_id, user_id: created_by, token_id: created_by_token };
  const is_justified =
    origin === null
      ? link.expires_at.getTime() - link.created_at.getTime() <= unrecorded_ms_max
      : await mayStillGrant(db, creator, grantedPermissions(link), now);
  if (!is_justified) throw unusable();
  return { user_id, origin, created_by, created_by_token };
}

function unusable(): Refusal {
  return new Refusal(
    "unauthorized",
    "This link was used already or has expired; ask for a new one",
  );
}
