import type { Kysely } from "kysely";
import type { App } from "../../engine/app.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalidField, type Refusal } from "../../lib/errors.ts";
import { recordAudit, type UserActor } from "../audit/record-audit.ts";
import { voidSignInLinks } from "../sign-in-emails.ts";
import { accountTokensSubject } from "../tokens/token-directory.ts";
import { findUser } from "../users/users.ts";
import { endSessions } from "./end-sessions.ts";
import { lockUser } from "./internal/lock-user.ts";
import { requireSession } from "./internal/require-session.ts";
import { hashPassword, isPassword } from "./passwords.ts";
import { countWithin, forgive } from "./throttle.ts";

/** In a quarter of an hour. */
const guesses_max = 10;

/**
 * Sets a user's password, ends their other sessions and voids links that sign them in. Needs the current one where there is one: a session that was
 * left open must not be enough. Throws validation-failed (current_password).
 */
export async function changePassword(
  app: App,
  actor: UserActor,
  change: { readonly current_password: string | null; readonly password: string },
): Promise<void> {
  const { account_id, user_id } = actor;
  const verified_hash = await requirePassword(app, actor, change.current_password);
  const password_hash = await hashPassword(change.password, actor.address);
  const now = app.clock.now();
  await app.db.query.transaction().execute(async (tx) => {
    await lockUser(tx, actor);
    await requireSession(tx, actor);
    if ((await readHash(tx, actor)) !== verified_hash) throw wrongPassword();
    await storePassword(tx, { account_id, user_id, password_hash }, now);
    await voidSignInLinks(tx, actor);
    await recordAudit(tx, actor, { at: now, action: "password.changed", subject_id: user_id });
    await endSessions(tx, actor, now, actor.token_id);
  });
  app.notifications.send("token", accountTokensSubject(account_id));
}

/**
 * Throws validation-failed (current_password) unless it is the user's, or the user has none; rate-limited after ten wrong
 * ones, because whoever has somebody's session could guess. Returns the stored hash, if there is one.
 */
export async function requirePassword(
  { db, clock }: Pick<App, "db" | "clock">,
  owner: Pick<UserActor, "account_id" | "user_id" | "address">,
  password: string | null,
): Promise<string | null> {
  const stored = await readHash(db.query, owner);
  if (stored === null) return null;
  if (password === null) throw wrongPassword();
  const subject = `current password of ${owner.account_id} ${owner.user_id}`;
  await countWithin(
    db,
    subject,
    new Map([[subject, guesses_max]]),
    clock.now(),
    (minutes) => `Too many wrong passwords; try again in ${minutes} min`,
  );
  if (!(await isPassword(password, stored, owner.address))) throw wrongPassword();
  await forgive(db, [subject]);
  return stored;
}

/**
 * Throws as requirePassword does if the user is the actor and would get another email address, to which a new password
 * can be mailed.
 */
export async function requirePasswordForEmail(
  app: Pick<App, "db" | "clock">,
  actor: UserActor,
  change: {
    readonly user_id: number;
    readonly email: string | undefined;
    readonly current_password: string | null;
  },
): Promise<void> {
  const { account_id, user_id } = actor;
  if (change.user_id !== user_id || change.email === undefined) return;
  const { email } = await findUser(app.db.query, account_id, user_id);
  if (change.email.toLowerCase() !== email)
    await requirePassword(app, actor, change.current_password);
}

function wrongPassword(): Refusal {
  return invalidField("current_password", "is not your current password");
}

async function readHash(
  db: Kysely<DB>,
  { account_id, user_id }: Pick<UserActor, "account_id" | "user_id">,
): Promise<string | null> {
  const stored = await db
    .selectFrom("user_passwords")
    .select("password_hash")
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id)
    .executeTakeFirst();
  return stored?.password_hash ?? null;
}

/** Stores the hash of a password. */
export async function storePassword(
  tx: Tx,
  row: { readonly account_id: number; readonly user_id: number; readonly password_hash: string },
  now: Date,
): Promise<void> {
  await tx
    .insertInto("user_passwords")
    .values({ ...row, changed_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "user_id"])
        .doUpdateSet({ password_hash: row.password_hash, changed_at: now }),
    )
    .execute();
}

/** Returns whether the user has a password. */
export async function hasPassword(
  db: Kysely<DB>,
  accountId: number,
  userId: number,
): Promise<boolean> {
  const row = await db
    .selectFrom("user_passwords")
    .select("user_id")
    .where("account_id", "=", accountId)
    .where("user_id", "=", userId)
    .executeTakeFirst();
  return row !== undefined;
}
