// Signs in at the installation's provider of identities. What the answer must match is sealed in a cookie, so it is
// bound to the browser that began, and any process can read it.
import { OidcUnreachable, type OidcProvider, type OidcRequest } from "../../drivers/oidc/driver.ts";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import { notFound, Refusal, unavailable } from "../../lib/errors.ts";
import { sealed_prefix, SecretError } from "../../lib/secrets/secrets.ts";
import type { Client } from "../audit/record-audit.ts";
import { createSession } from "./create-session.ts";
import type { SignInAccount, SignInResult } from "./sign-in.ts";
import { countWithin } from "./throttle.ts";

/** How long a person may take at the provider, and to choose an account. */
export const oidc_minutes_max = 10;
const minute_ms = 60_000;
const place = { column: "session.oidc", account_id: 0, id: 0 } as const;
/** In a quarter of an hour: each answer costs a request to the provider. */
const answers_of_address_max = 300;
const accounts_max = 10;

/** What the cookie holds: a sign-in that has begun, or who has signed in and chooses an account. */
type Pending = { readonly expires_at: number } & (
  | { readonly request: OidcRequest }
  | { readonly email: string }
);

type OidcApp = App & { readonly oidc: OidcProvider | null; readonly public_url: string };

const findUsers = statement<SignInAccount & { readonly user_id: number }>(`
  select u.account_id, a.name, u.id as user_id
  from sign_in_emails e
  join users u on u.account_id = e.account_id and u.id = e.user_id and u.active
  join accounts a on a.account_id = u.account_id
  where e.email = $1
  order by u.account_id limit ${accounts_max}`);

/**
 * Begins a sign-in: returns the provider's page and the text of the cookie. Throws not-found without a provider,
 * unavailable if it cannot be reached.
 */
export async function beginOidc(
  app: OidcApp,
): Promise<{ readonly url: string; readonly cookie: string }> {
  const { url, request } = await providerOf(app)
    .begin(pageOf(app))
    .catch((error: unknown) => {
      throw refusalOf(app, error);
    });
  return { url, cookie: seal(app, { request }) };
}

/**
 * Ends a sign-in with the provider's answer, or with the account that the person chose. Only a user who exists here with
 * the address that the provider has verified is signed in. Returns the cookie of the choice beside several accounts.
 * Throws unauthorized, which says why; rate-limited.
 */
export async function finishOidc(
  app: OidcApp,
  given: { readonly answer: string | null; readonly account_id: number | null; cookie: string },
  visitor: Client,
): Promise<{ readonly result: SignInResult; readonly choice: string | null }> {
  const now = app.clock.now();
  const pending = unseal(app, given.cookie);
  const subject = `single sign-on from ${visitor.address}`;
  await countWithin(
    app.db,
    new Map([[subject, answers_of_address_max]]),
    now,
    (minutes) => `Too many sign-ins; try again in ${minutes} min`,
  );
  const email =
    "email" in pending ? pending.email : await readAnswer(app, given.answer, pending.request);
  const users = await findUsers(app.db.pool, [email]);
  if (users.length === 0)
    throw new Refusal("unauthorized", `There is no user ${email} here. Ask for an invitation`);
  const chosen =
    users.length === 1 ? users[0] : users.find(({ account_id }) => account_id === given.account_id);
  if (!chosen) {
    const choices = users.map(({ account_id, name }) => ({ account_id, name }));
    return { result: { cookie: null, choices }, choice: seal(app, { email }) };
  }
  const { account_id, name, user_id } = chosen;
  const cookie = await app.db.query
    .transaction()
    .execute((tx) => createSession(tx, { account_id, user_id, ...visitor }, now));
  return { result: { cookie, account: { account_id, name } }, choice: null };
}

/** Returns the address, in lower case, that the provider has verified. */
async function readAnswer(
  app: OidcApp,
  answer: string | null,
  request: OidcRequest,
): Promise<string> {
  const { email, email_verified } = await providerOf(app)
    .finish(new URL(`${pageOf(app)}?${answer ?? ""}`), request)
    .catch((error: unknown) => {
      throw refusalOf(app, error);
    });
  if (email === null || !email_verified)
    throw new Refusal("unauthorized", `${app.oidc!.label} has not verified an email address`);
  return email.toLowerCase();
}

function providerOf({ oidc }: OidcApp): OidcProvider {
  if (!oidc) throw notFound();
  return oidc;
}

/** The console's page to which the provider returns. */
const pageOf = ({ public_url }: OidcApp): string => `${public_url}/sign-in/oidc`;

function refusalOf({ log, oidc }: OidcApp, error: unknown): unknown {
  if (error instanceof Refusal) return error;
  log.warn({ err: error }, "a sign-in at the identity provider failed");
  if (error instanceof OidcUnreachable) return unavailable(error);
  return new Refusal("unauthorized", `${oidc!.label} did not confirm the sign-in. Begin again`);
}

type Content<Of> = Of extends unknown ? Omit<Of, "expires_at"> : never;

function seal({ secrets, clock }: OidcApp, content: Content<Pending>): string {
  const expires_at = clock.now().getTime() + oidc_minutes_max * minute_ms;
  return secrets.seal(place, JSON.stringify({ ...content, expires_at }));
}

function unseal({ secrets, clock }: OidcApp, cookie: string): Pending {
  try {
    if (cookie.startsWith(sealed_prefix)) {
      const pending = JSON.parse(secrets.open(place, cookie).toString()) as Pending;
      if (pending.expires_at > clock.now().getTime()) return pending;
    }
  } catch (error) {
    if (!(error instanceof SecretError)) throw error;
  }
  throw new Refusal("unauthorized", "This sign-in was not begun in this browser, or too long ago");
}
