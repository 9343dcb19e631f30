// Signs in at the installation's provider of identities.
import { OidcUnreachable, type OidcProvider, type OidcRequest } from "../../drivers/oidc/driver.ts";
import type { App } from "../../engine/app.ts";
import { addressGroup } from "../../lib/addresses/address-group.ts";
import { statement } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import type { Client } from "../audit/record-audit.ts";
import { createSession } from "./create-session.ts";
import { holdUser } from "./internal/lock-user.ts";
import { openState, sealState } from "./internal/sealed-state.ts";
import { passSecondFactor } from "./internal/second-factor.ts";
import { code_required, type SignInAccount, type SignInResult } from "./sign-in.ts";
import { countWithin } from "./throttle.ts";

/** How long a person may take at the provider, and then to choose an account or enter a code. */
export const oidc_minutes_max = 10;
/** In a quarter of an hour, of each: an answer costs a request to the provider, and so may a beginning. */
const sign_ins_of_address_max = 300;
/** Choices; any other account is found by its ID. */
const accounts_max = 100;

/** What the cookie holds: a sign-in that has begun, or who has signed in and still chooses an account or has a code. */
type Pending = { readonly request: OidcRequest } | Identity;

type Identity = {
  readonly email: string;
  /** Whether the provider has asked for a second factor. */
  readonly is_multi_factor: boolean;
  /** In milliseconds since 1970. A new cookie does not extend it. */
  readonly verified_until: number;
};

type OidcApp = App & { readonly oidc: OidcProvider | null; readonly public_url: string };

const findUsers = statement<SignInAccount & { readonly user_id: number }>(`
  select u.account_id, a.name, u.id as user_id
  from sign_in_emails e
  join users u on u.account_id = e.account_id and u.id = e.user_id and u.active
  join accounts a on a.account_id = u.account_id
  where e.email = $1 and ($2::bigint is null or e.account_id = $2)
  order by u.account_id limit ${accounts_max + 1}`);

/**
 * Begins a sign-in: returns the provider's page and the text of the cookie. Throws not-found without a provider,
 * unavailable if it cannot be reached; rate-limited.
 */
export async function beginOidc(
  app: OidcApp,
  visitor: Client,
): Promise<{ readonly url: string; readonly cookie: string }> {
  const provider = providerOf(app);
  await countFrom(app, visitor, "single sign-on begun");
  const { url, request } = await provider.begin(pageOf(app)).catch((error: unknown) => {
    throw refusalOf(app, error);
  });
  return { url, cookie: keep(app, { request }, endOfStep(app)) };
}

/**
 * Ends a sign-in with the provider's answer, or after it with the account and code that were asked for. Only a user who
 * exists here with the address that the provider has verified is signed in. Returns beside such a question the cookie
 * that keeps who was verified. Throws unauthorized, which says why; rate-limited.
 */
export async function finishOidc(
  app: OidcApp,
  given: {
    readonly answer: string | null;
    readonly account_id: number | null;
    readonly code: string | null;
    readonly cookie: string;
  },
  visitor: Client,
): Promise<{ readonly result: SignInResult; readonly identity: string | null }> {
  const now = app.clock.now();
  const pending = openPending(app, given.cookie);
  await countFrom(app, visitor, "single sign-on");
  const identity =
    "email" in pending ? pending : await readAnswer(app, given.answer, pending.request);
  const { email, is_multi_factor, verified_until } = identity;
  const ask = (result: SignInResult) => ({
    result,
    identity: keep(app, { email, is_multi_factor, verified_until }, verified_until),
  });
  const found = await findUsers(app.db.pool, [email, given.account_id]);
  const users = found.slice(0, accounts_max);
  const [chosen, ...others] = users;
  if (!chosen)
    throw new Refusal(
      "unauthorized",
      given.account_id === null
        ? `There is no user ${email} here. Ask for an invitation`
        : `There is no user ${email} in the account ${given.account_id}`,
    );
  if (others.length > 0) {
    const choices = users.map(({ account_id, name }) => ({ account_id, name }));
    const more_accounts = found.length > accounts_max;
    return ask({ cookie: null, choices, more_accounts, code_required: false });
  }
  const { account_id, name, user_id } = chosen;
  if (!is_multi_factor && !(await passSecondFactor(app, chosen, given.code)))
    return ask(code_required);
  const cookie = await app.db.query.transaction().execute(async (tx) => {
    await holdUser(tx, chosen);
    return createSession(tx, { account_id, user_id, ...visitor }, now);
  });
  return { result: { cookie, account: { account_id, name } }, identity: null };
}

/** Counts a step of a sign-in for the group of the visitor's address. */
function countFrom(app: OidcApp, { address }: Client, step: string): Promise<void> {
  const group = addressGroup(address);
  return countWithin(
    app.db,
    group,
    new Map([[`${step} from ${group}`, sign_ins_of_address_max]]),
    app.clock.now(),
    (minutes) => `Too many sign-ins; try again in ${minutes} min`,
  );
}

/** Returns when a person who begins a step now may no longer end it. */
const endOfStep = ({ clock }: OidcApp): number => clock.now().getTime() + oidc_minutes_max * 60_000;

const keep = (app: OidcApp, pending: Pending, until: number): string =>
  sealState(app, "oidc", pending, new Date(until));

/** Returns what the cookie holds. Throws unauthorized if it was not sealed here or has expired. */
function openPending(app: OidcApp, cookie: string): Pending {
  const pending = openState(app, "oidc", cookie) as Pending | null;
  // A version without `verified_until` renews its cookies, so those are refused too.
  const is_valid =
    pending && (!("email" in pending) || pending.verified_until > app.clock.now().getTime());
  if (is_valid) return pending;
  throw new Refusal("unauthorized", "This sign-in was not begun in this browser, or too long ago");
}

/** Returns who the provider says it is, with the address in lower case, verified from now on. */
async function readAnswer(
  app: OidcApp,
  answer: string | null,
  request: OidcRequest,
): Promise<Identity> {
  const { email, email_verified, is_multi_factor } = await providerOf(app)
    .finish(new URL(`${pageOf(app)}?${answer ?? ""}`), request)
    .catch((error: unknown) => {
      throw refusalOf(app, error);
    });
  if (email === null || !email_verified)
    throw new Refusal("unauthorized", `${app.oidc!.label} has not verified an email address`);
  return { email: email.toLowerCase(), is_multi_factor, verified_until: endOfStep(app) };
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
  if (error instanceof OidcUnreachable)
    return new Refusal("unavailable", `${oidc!.label} cannot be reached; try again shortly`, {
      cause: error,
    });
  return new Refusal("unauthorized", `${oidc!.label} did not confirm the sign-in. Begin again`);
}
