// The second factor at a sign-in: a code of an authenticator app (RFC 6238), or a recovery code.
import { Secret, TOTP } from "otpauth";
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";
import type { SecretPlace } from "../../../lib/secrets/secrets.ts";
import { hashSecret } from "../../tokens/token-text.ts";
import { countWithin, forgive } from "../throttle.ts";

export type FactorOwner = { readonly account_id: number; readonly user_id: number };

type StoredFactor = { readonly secret: string; readonly is_confirmed: boolean };

/** In a quarter of an hour; whoever gets this far knows the password. */
const guesses_max = 5;
const period_seconds = 30;
/** Clocks of phones are a little off: the code before and the one after count too. */
const steps_off_max = 1;

const findFactor = statement<StoredFactor>(`
  select secret, confirmed_at is not null as is_confirmed from user_totp
  where account_id = $1 and user_id = $2`);

// At once with the look-up of the step, so that of two requests with one code only one passes.
const useStep = statement<{ user_id: number }>(`
  update user_totp set last_step = $3
  where account_id = $1 and user_id = $2 and last_step < $3 returning user_id`);

const useRecoveryCode = statement<{ user_id: number }>(`
  update user_totp set recovery_codes = array_remove(recovery_codes, $3)
  where account_id = $1 and user_id = $2 and $3 = any(recovery_codes) returning user_id`);

export const placeOfTotp = ({ account_id, user_id }: FactorOwner): SecretPlace => ({
  column: "user_totp.secret",
  account_id,
  id: user_id,
});

/** Returns the parameters that every authenticator app knows. */
export function totpOf(secret: string, email = ""): TOTP {
  return new TOTP({ issuer: "Trunkline", label: email, secret: Secret.fromBase32(secret) });
}

/**
 * Reports whether the sign-in is complete: the user has no second factor, or the code is right. False: the code is
 * missing. Throws unauthorized for a wrong or used code; rate-limited after five.
 */
export async function passSecondFactor(
  app: App,
  owner: FactorOwner,
  code: string | null,
): Promise<boolean> {
  const [factor] = await findFactor(app.db.pool, [owner.account_id, owner.user_id]);
  if (!factor?.is_confirmed) return true;
  if (code === null) return false;
  if (!(await useCode(app, owner, factor, code)))
    throw new Refusal("unauthorized", "This code is wrong or was used already");
  return true;
}

/** Uses a code of a factor up, also of one that is not confirmed; false for a wrong one. Throws rate-limited. */
export async function isFactorCode(app: App, owner: FactorOwner, code: string): Promise<boolean> {
  const [factor] = await findFactor(app.db.pool, [owner.account_id, owner.user_id]);
  return factor !== undefined && useCode(app, owner, factor, code);
}

async function useCode(
  app: App,
  owner: FactorOwner,
  { secret }: StoredFactor,
  code: string,
): Promise<boolean> {
  const { account_id, user_id } = owner;
  const now = app.clock.now();
  const digits = code.replaceAll(/[\s-]/g, "").toLowerCase();
  const is_totp = /^\d{6}$/.test(digits);
  // Apart, so that wrong codes of the app do not lock out the recovery codes, which are too long to guess.
  const subject = `${is_totp ? "app" : "recovery"} code of ${account_id} ${user_id}`;
  await countWithin(
    app.db,
    subject,
    new Map([[subject, guesses_max]]),
    now,
    (minutes) => `Too many wrong codes; try again in ${minutes} min`,
  );
  const used = is_totp
    ? await useTotp(app, owner, app.secrets.open(placeOfTotp(owner), secret).toString(), digits)
    : await useRecoveryCode(app.db.pool, [account_id, user_id, hashSecret(digits)]);
  if (used.length === 0) return false;
  await forgive(app.db, [subject]);
  return true;
}

async function useTotp(
  app: App,
  { account_id, user_id }: FactorOwner,
  secret: string,
  token: string,
): Promise<readonly unknown[]> {
  const timestamp = app.clock.now().getTime();
  const off = totpOf(secret).validate({ token, timestamp, window: steps_off_max });
  if (off === null) return [];
  const step = Math.floor(timestamp / 1_000 / period_seconds) + off;
  return useStep(app.db.pool, [account_id, user_id, step]);
}
