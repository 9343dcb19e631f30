// Setting up an authenticator app, and removing it.
import { randomBytes } from "node:crypto";
import { Secret } from "otpauth";
import type { Kysely } from "kysely";
import type { App } from "../../engine/app.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalidField, Refusal } from "../../lib/errors.ts";
import { recordAudit, type UserActor } from "../audit/record-audit.ts";
import type { Grantor } from "../roles/grantor.ts";
import { hashSecret } from "../tokens/token-text.ts";
import { refuseStrongerUser } from "./internal/refuse-stronger-user.ts";
import { isFactorCode, placeOfTotp, totpOf, type FactorOwner } from "./internal/second-factor.ts";
import type { NewTotp, Totp } from "./session-schema.ts";
import { requirePassword } from "./set-password.ts";

const secret_bytes = 20;
const recovery_codes = 10;

/** Reports whether the user has an authenticator app, and how many recovery codes are unused. */
export async function readTotp(db: Kysely<DB>, owner: FactorOwner): Promise<Totp> {
  const row = await ownTotp(db, owner).executeTakeFirst();
  const enabled = row !== undefined && row.confirmed_at !== null;
  return { enabled, recovery_codes_left: enabled ? row.recovery_codes.length : 0 };
}

/**
 * Begins to set up an app: returns its secret, which counts once it is confirmed. Replaces a secret that was never
 * confirmed. Throws validation-failed (current_password); conflict if the user has an app.
 */
export async function createTotp(
  app: App,
  actor: UserActor,
  { email, current_password }: { readonly email: string; readonly current_password: string | null },
): Promise<NewTotp> {
  const { account_id, user_id } = actor;
  await requirePassword(app, actor, current_password);
  const secret = new Secret({ size: secret_bytes }).base32;
  const sealed = app.secrets.seal(placeOfTotp(actor), secret);
  const values = { account_id, user_id, secret: sealed, created_at: app.clock.now() };
  const stored = await app.db.query
    .insertInto("user_totp")
    .values(values)
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "user_id"])
        .doUpdateSet({ secret: sealed, created_at: values.created_at, last_step: 0 })
        .where("user_totp.confirmed_at", "is", null),
    )
    .returning("user_id")
    .executeTakeFirst();
  if (!stored) throw new Refusal("conflict", "You have an authenticator app; remove it first");
  return { secret, uri: totpOf(secret, email).toString() };
}

/**
 * Confirms the app with its first code; returns recovery codes, shown only here. Throws validation-failed (code);
 * conflict without an app that waits for it.
 */
export async function confirmTotp(
  app: App,
  actor: UserActor,
  code: string,
): Promise<readonly string[]> {
  const waiting = await ownTotp(app.db.query, actor).executeTakeFirst();
  if (waiting?.confirmed_at !== null) throw nothingWaits();
  await requireCode(app, actor, code);
  const codes = Array.from({ length: recovery_codes }, newRecoveryCode);
  const now = app.clock.now();
  await app.db.query.transaction().execute(async (tx) => {
    const confirmed = await tx
      .updateTable("user_totp")
      .set({
        confirmed_at: now,
        recovery_codes: codes.map((text) => hashSecret(text.replaceAll("-", ""))),
      })
      .where("account_id", "=", actor.account_id)
      .where("user_id", "=", actor.user_id)
      .where("confirmed_at", "is", null)
      .where("secret", "=", waiting.secret)
      .returning("user_id")
      .executeTakeFirst();
    if (!confirmed) throw nothingWaits();
    await recordAudit(tx, actor, { at: now, action: "totp.added", subject_id: actor.user_id });
  });
  return codes;
}

/** Removes the own app; needs a code, so that a session left open is not enough. Throws validation-failed (code). */
export async function removeTotp(app: App, actor: UserActor, code: string): Promise<void> {
  await requireCode(app, actor, code);
  await app.db.query
    .transaction()
    .execute((tx) => dropTotp(tx, actor, actor.user_id, app.clock.now()));
}

/** Removes the app, if there is one, of a user who lost it. Throws not-found; forbidden for a stronger user, and for oneself. */
export async function removeTotpOf(
  tx: Tx,
  grantor: Grantor,
  user_id: number,
  now: Date,
): Promise<void> {
  const own_advice = "Remove your own app in your profile, with one of its codes";
  await refuseStrongerUser(tx, grantor, user_id, own_advice);
  await dropTotp(tx, grantor.actor, user_id, now);
}

async function dropTotp(
  tx: Tx,
  actor: Grantor["actor"],
  user_id: number,
  now: Date,
): Promise<void> {
  const dropped = await tx
    .deleteFrom("user_totp")
    .where("account_id", "=", actor.account_id)
    .where("user_id", "=", user_id)
    .returning("user_id")
    .executeTakeFirst();
  if (dropped)
    await recordAudit(tx, actor, { at: now, action: "totp.removed", subject_id: user_id });
}

const nothingWaits = (): Refusal =>
  new Refusal("conflict", "No authenticator app waits for its first code");

async function requireCode(app: App, owner: FactorOwner, code: string): Promise<void> {
  if (!(await isFactorCode(app, owner, code)))
    throw invalidField("code", "is wrong or was used already");
}

function ownTotp(db: Kysely<DB>, { account_id, user_id }: FactorOwner) {
  return db
    .selectFrom("user_totp")
    .select(["secret", "confirmed_at", "recovery_codes"])
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id);
}

/** 64 bits, in groups that are easy to write down. */
function newRecoveryCode(): string {
  return randomBytes(8).toString("hex").match(/.{4}/g)!.join("-");
}
