// What a sign-in in several steps keeps between them: sealed in a cookie, so it is bound to the browser that began, and
// any process can read it.
import type { App } from "../../../engine/app.ts";
import { sealed_prefix, SecretError, type SecretPlace } from "../../../lib/secrets/secrets.ts";

/** The steps that a state belongs to; one of another kind does not open. */
export type StateKind = "oidc" | "passkey";

const placeOf = (kind: StateKind): SecretPlace => ({
  column: `session.${kind}`,
  account_id: 0,
  id: 0,
});

/** Returns the text of a cookie that opens until `until`. */
export function sealState(
  { secrets }: Pick<App, "secrets">,
  kind: StateKind,
  state: object,
  until: Date,
): string {
  const expires_at = until.getTime();
  return secrets.seal(placeOf(kind), JSON.stringify({ state, expires_at }));
}

/** Returns the state of a cookie; null if it was not sealed here or has expired. */
export function openState({ secrets, clock }: App, kind: StateKind, cookie: string): unknown {
  if (!cookie.startsWith(sealed_prefix)) return null;
  try {
    const text = secrets.open(placeOf(kind), cookie).toString();
    const { state, expires_at } = JSON.parse(text) as { state: object; expires_at: number };
    return expires_at > clock.now().getTime() ? state : null;
  } catch (error) {
    if (error instanceof SecretError) return null;
    throw error;
  }
}
