// The challenge that a passkey signs: sealed in a cookie of the browser that asked for it, and used once.
import type { App } from "../../../engine/app.ts";
import { Refusal } from "../../../lib/errors.ts";
import { challenge_minutes_max } from "../passkey-schema.ts";
import { useOnce } from "../throttle.ts";
import { openState, sealState } from "./sealed-state.ts";

/** What the challenge is for: another purpose, or another user's, is refused. */
export type ChallengePurpose = "sign in" | `add to ${number} ${number}`;

type Challenge = {
  readonly challenge: string;
  readonly purpose: ChallengePurpose;
};

/** Returns the text of the cookie. */
export function sealChallenge(app: App, challenge: string, purpose: ChallengePurpose): string {
  const until = new Date(app.clock.now().getTime() + challenge_minutes_max * 60_000);
  return sealState(app, "passkey", { challenge, purpose }, until);
}

/** Returns the challenge of the cookie, once. Throws unauthorized. */
export async function takeChallenge(
  app: App,
  cookie: string,
  purpose: ChallengePurpose,
): Promise<string> {
  const known = openState(app, "passkey", cookie) as Challenge | null;
  if (known?.purpose !== purpose) throw notBegun();
  const name = `passkey challenge ${known.challenge}`;
  if (!(await useOnce(app.db, name, app.clock.now()))) throw notBegun();
  return known.challenge;
}

const notBegun = (): Refusal =>
  new Refusal("unauthorized", "This was not begun in this browser, or too long ago; begin again");
