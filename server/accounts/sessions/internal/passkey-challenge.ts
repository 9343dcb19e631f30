// The challenge that a passkey signs: sealed in a cookie of the browser that asked for it, and used once.
import type { App } from "../../../engine/app.ts";
import { Refusal } from "../../../lib/errors.ts";
import { sealed_prefix, SecretError } from "../../../lib/secrets/secrets.ts";
import { challenge_minutes_max } from "../passkey-schema.ts";
import { useOnce } from "../throttle.ts";

const minute_ms = 60_000;
const place = { column: "session.passkey", account_id: 0, id: 0 } as const;

/** What the challenge is for: another purpose, or another user's, is refused. */
export type ChallengePurpose = "sign in" | `add to ${number} ${number}`;

type Challenge = {
  readonly challenge: string;
  readonly purpose: ChallengePurpose;
  readonly expires_at: number;
};

/** Returns the text of the cookie. */
export function sealChallenge(app: App, challenge: string, purpose: ChallengePurpose): string {
  const expires_at = app.clock.now().getTime() + challenge_minutes_max * minute_ms;
  return app.secrets.seal(place, JSON.stringify({ challenge, purpose, expires_at }));
}

/** Returns the challenge of the cookie, once. Throws unauthorized. */
export async function takeChallenge(
  app: App,
  cookie: string,
  purpose: ChallengePurpose,
): Promise<string> {
  const now = app.clock.now();
  const known = open(app, cookie);
  if (known?.purpose !== purpose || known.expires_at <= now.getTime()) throw notBegun();
  if (!(await useOnce(app.db, `passkey challenge ${known.challenge}`, now))) throw notBegun();
  return known.challenge;
}

function open({ secrets }: App, cookie: string): Challenge | null {
  if (!cookie.startsWith(sealed_prefix)) return null;
  try {
    return JSON.parse(secrets.open(place, cookie).toString()) as Challenge;
  } catch (error) {
    if (error instanceof SecretError) return null;
    throw error;
  }
}

const notBegun = (): Refusal =>
  new Refusal("unauthorized", "This was not begun in this browser, or too long ago; begin again");
