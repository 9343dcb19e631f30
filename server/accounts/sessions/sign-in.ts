import type { App } from "../../engine/app.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Client } from "../audit/record-audit.ts";
import { createSession } from "./create-session.ts";
import { isPassword } from "./passwords.ts";
import { holdUser } from "./internal/lock-user.ts";
import { passSecondFactor } from "./internal/second-factor.ts";
import { countSignIn, forgiveSignIn } from "./throttle.ts";
import type { SignInRequest } from "./session-schema.ts";

export type SignInAccount = { readonly account_id: number; readonly name: string };

/** Signed in with the text of the cookie, or what is missing: one of several accounts, or a code. */
export type SignInResult =
  | { readonly cookie: string; readonly account: SignInAccount | null }
  | {
      readonly cookie: null;
      readonly choices: readonly SignInAccount[];
      /** Whether the person may choose others, which were not looked at. */
      readonly more_accounts: boolean;
      readonly code_required: boolean;
    };

export const code_required = {
  cookie: null,
  choices: [],
  more_accounts: false,
  code_required: true,
} as const;

type Candidate = SignInAccount & {
  readonly user_id: number;
  readonly password_hash: string;
};

/** Without `account_id`: one person has few accounts, and each costs a hash. */
const accounts_max = 10;

const findCandidates = statement<Candidate>(`
  select u.account_id, a.name, u.id as user_id, p.password_hash
  from sign_in_emails e
  join users u on u.account_id = e.account_id and u.id = e.user_id and u.active
  join accounts a on a.account_id = u.account_id
  join user_passwords p on p.account_id = u.account_id and p.user_id = u.id
  where e.email = $1 and ($2::bigint is null or e.account_id = $2)
  order by u.account_id limit ${accounts_max + 1}`);

/**
 * Signs in with an email address and a password, to the account that is given, whatever other accounts do with the
 * address. Without one, a person of several accounts with the same password gets the choices; one with an authenticator
 * app needs a code. Throws unauthorized, which says nothing about what was wrong with the address or password;
 * rate-limited after too many failures.
 */
export async function signIn(
  app: App,
  { email, password, account_id, code = null }: SignInRequest,
  client: Client,
): Promise<SignInResult> {
  const now = app.clock.now();
  const attempt = { email: email.toLowerCase(), address: client.address };
  await countSignIn(app.db, attempt, now);
  const found = await findCandidates(app.db.pool, [attempt.email, account_id ?? null]);
  const candidates = found.slice(0, accounts_max);
  const matching = await matchPassword(candidates, password, client.address);
  const [chosen, ...others] = matching;
  if (!chosen) throw wrongPassword();
  await forgiveSignIn(app.db, attempt);
  if (others.length > 0) {
    const more_accounts = found.length > accounts_max;
    const choices = matching.map(accountOf);
    return { cookie: null, choices, more_accounts, code_required: false };
  }
  if (!(await passSecondFactor(app, chosen, code))) return code_required;
  const cookie = await app.db.query.transaction().execute(async (tx) => {
    await holdUser(tx, chosen);
    await requireUnchanged(tx, chosen);
    const { user_id } = chosen;
    return createSession(tx, { account_id: chosen.account_id, user_id, ...client }, now);
  });
  return { cookie, account: accountOf(chosen) };
}

/** A password that was replaced while it was checked must not sign in: its sessions have ended. */
async function requireUnchanged(tx: Tx, { account_id, user_id, password_hash }: Candidate) {
  const current = await tx
    .selectFrom("user_passwords")
    .select("user_id")
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id)
    .where("password_hash", "=", password_hash)
    .executeTakeFirst();
  if (!current) throw wrongPassword();
}

function wrongPassword(): Refusal {
  return new Refusal("unauthorized", "The email address or the password is wrong");
}

async function matchPassword(
  candidates: Candidate[],
  password: string,
  address: string,
): Promise<Candidate[]> {
  // An unknown address takes as long as a known one.
  if (candidates.length === 0) await isPassword(password, null, address);
  const matching: Candidate[] = [];
  for (const candidate of candidates)
    if (await isPassword(password, candidate.password_hash, address)) matching.push(candidate);
  return matching;
}

function accountOf({ account_id, name }: SignInAccount): SignInAccount {
  return { account_id, name };
}
