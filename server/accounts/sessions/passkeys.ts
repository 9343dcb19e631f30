// Passkeys (https://www.w3.org/TR/webauthn-3/): a device signs a challenge after its owner unlocked it, which makes two
// factors. A key is bound to the host of the service's address.
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { isIP } from "node:net";
import type { App } from "../../engine/app.ts";
import { addressGroup } from "../../lib/addresses/address-group.ts";
import { statement } from "../../lib/database/database.ts";
import { invalidField, notFound, Refusal } from "../../lib/errors.ts";
import { recordAudit, type Client, type UserActor } from "../audit/record-audit.ts";
import { createSession } from "./create-session.ts";
import { holdUser } from "./internal/lock-user.ts";
import { requireSession } from "./internal/require-session.ts";
import { sealChallenge, takeChallenge } from "./internal/passkey-challenge.ts";
import type { Passkey } from "./passkey-schema.ts";
import { requirePassword } from "./set-password.ts";
import type { SignInResult } from "./sign-in.ts";
import { countWithin } from "./throttle.ts";

type PasskeyApp = App & { readonly public_url: string };

/** What the browser's function is called with, and the text of the cookie. */
export type PasskeyChallenge = { readonly options: object; readonly cookie: string };

const passkeys_max = 20;
/** In a quarter of an hour. */
const sign_ins_of_address_max = 300;

/** Loaded when the first passkey is used: it takes longer than the rest of the sign-in. */
const webauthn = () => import("@simplewebauthn/server");

/** Returns whether passkeys work at the service's address: browsers bind them to a name, not to an IP address. */
export function hasPasskeys({ public_url }: Pick<PasskeyApp, "public_url">): boolean {
  return isIP(new URL(public_url).hostname.replaceAll(/[[\]]/g, "")) === 0;
}

/** Lists the user's own passkeys, the newest first. */
export async function listPasskeys({ db }: App, owner: UserActor): Promise<Passkey[]> {
  const rows = await db.query
    .selectFrom("user_passkeys")
    .select(["id", "name", "created_at", "last_used_at"])
    .where("account_id", "=", owner.account_id)
    .where("user_id", "=", owner.user_id)
    .orderBy("id", "desc")
    .execute();
  return rows.map((row) => ({
    ...row,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
  }));
}

/**
 * Begins to add a passkey. Throws validation-failed (current_password); conflict at an address without a name or with
 * too many keys.
 */
export async function beginPasskey(
  app: PasskeyApp,
  actor: UserActor,
  { email, current_password }: { readonly email: string; readonly current_password: string | null },
): Promise<PasskeyChallenge> {
  await requirePassword(app, actor, current_password);
  const { rpID } = partyOf(app);
  const { account_id, user_id } = actor;
  const known = await app.db.query
    .selectFrom("user_passkeys")
    .select(["credential_id", "transports"])
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id)
    .execute();
  if (known.length >= passkeys_max)
    throw new Refusal("conflict", `You have ${passkeys_max} passkeys; remove one first`);
  const { generateRegistrationOptions } = await webauthn();
  const options = await generateRegistrationOptions({
    rpName: "Trunkline",
    rpID,
    userName: email,
    userID: writeOwner(actor),
    excludeCredentials: known.map(({ credential_id: id, transports }) => ({ id, transports })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  const cookie = sealChallenge(app, options.challenge, `add to ${account_id} ${user_id}`);
  return { options, cookie };
}

/**
 * Adds the passkey that the browser has made. Throws unauthorized, also if the session has ended meanwhile;
 * validation-failed (response).
 */
export async function addPasskey(
  app: PasskeyApp,
  actor: UserActor,
  given: {
    readonly name: string;
    readonly response: RegistrationResponseJSON;
    readonly cookie: string;
  },
): Promise<Passkey> {
  const { account_id, user_id } = actor;
  const expectedChallenge = await takeChallenge(
    app,
    given.cookie,
    `add to ${account_id} ${user_id}`,
  );
  const { origin, rpID } = partyOf(app);
  const { verifyRegistrationResponse } = await webauthn();
  const checked = await verifyRegistrationResponse({
    response: given.response,
    expectedChallenge,
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
  }).catch((error: unknown) => {
    throw invalidField("response", (error as Error).message);
  });
  if (!checked.verified) throw invalidField("response", "is not a passkey of this browser");
  const {
    id: credential_id,
    publicKey,
    counter,
    transports = [],
  } = checked.registrationInfo.credential;
  const now = app.clock.now();
  const { name } = given;
  const id = await app.db.query.transaction().execute(async (tx) => {
    await holdUser(tx, actor);
    await requireSession(tx, actor);
    const key = { account_id, user_id, credential_id, counter, transports, name };
    const row = await tx
      .insertInto("user_passkeys")
      .values({ ...key, public_key: Buffer.from(publicKey), created_at: now })
      .onConflict((conflict) => conflict.columns(["account_id", "credential_id"]).doNothing())
      .returning("id")
      .executeTakeFirst();
    if (!row) throw invalidField("response", "is a passkey that was added before");
    await recordAudit(tx, actor, { at: now, action: "passkey.added", subject_id: row.id });
    return row.id;
  });
  return { id, name, created_at: now.toISOString(), last_used_at: null };
}

/** Removes an own passkey. Throws not-found. */
export async function removePasskey(app: App, actor: UserActor, id: number): Promise<void> {
  const now = app.clock.now();
  await app.db.query.transaction().execute(async (tx) => {
    const row = await tx
      .deleteFrom("user_passkeys")
      .where("account_id", "=", actor.account_id)
      .where("user_id", "=", actor.user_id)
      .where("id", "=", id)
      .returning("id")
      .executeTakeFirst();
    if (!row) throw notFound();
    await recordAudit(tx, actor, { at: now, action: "passkey.removed", subject_id: id });
  });
}

/** Begins a sign-in: the browser offers the passkeys of this host. Throws conflict at an address without a name. */
export async function beginPasskeySignIn(app: PasskeyApp): Promise<PasskeyChallenge> {
  const { rpID } = partyOf(app);
  const { generateAuthenticationOptions } = await webauthn();
  const options = await generateAuthenticationOptions({ rpID, userVerification: "required" });
  return { options, cookie: sealChallenge(app, options.challenge, "sign in") };
}

type StoredKey = {
  readonly id: number;
  readonly account_name: string;
  readonly public_key: Buffer;
  readonly counter: number;
};

const findKey = statement<StoredKey>(`
  select k.id, a.name as account_name, k.public_key, k.counter
  from user_passkeys k
  join users u on u.account_id = k.account_id and u.id = k.user_id and u.active
  join accounts a on a.account_id = k.account_id
  where k.account_id = $1 and k.user_id = $2 and k.credential_id = $3`);

/**
 * Signs in with what a passkey has signed. The device has checked its owner, so no code is asked for. Throws
 * unauthorized, which does not say what was wrong; rate-limited.
 */
export async function signInWithPasskey(
  app: PasskeyApp,
  { response, cookie }: { readonly response: AuthenticationResponseJSON; readonly cookie: string },
  visitor: Client,
): Promise<SignInResult> {
  const now = app.clock.now();
  const group = addressGroup(visitor.address);
  await countWithin(
    app.db,
    group,
    new Map([[`passkeys from ${group}`, sign_ins_of_address_max]]),
    now,
    (minutes) => `Too many sign-ins; try again in ${minutes} min`,
  );
  const expectedChallenge = await takeChallenge(app, cookie, "sign in");
  const owner = readOwner(response.response.userHandle);
  const [key] = owner
    ? await findKey(app.db.pool, [owner.account_id, owner.user_id, response.id])
    : [];
  if (!owner || !key) throw unknownKey();
  const { origin, rpID } = partyOf(app);
  const { verifyAuthenticationResponse } = await webauthn();
  const checked = await verifyAuthenticationResponse({
    response,
    expectedChallenge,
    expectedOrigin: origin,
    expectedRPID: rpID,
    credential: {
      id: response.id,
      publicKey: Uint8Array.from(key.public_key),
      counter: key.counter,
    },
    requireUserVerification: true,
  }).catch(() => null);
  if (!checked?.verified) throw unknownKey();
  const { newCounter } = checked.authenticationInfo;
  const { account_id } = owner;
  const session = await app.db.query.transaction().execute(async (tx) => {
    await holdUser(tx, owner);
    const used = await tx
      .updateTable("user_passkeys")
      .set({ counter: newCounter, last_used_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", key.id)
      .returning("id")
      .executeTakeFirst();
    if (!used) throw unknownKey();
    return createSession(tx, { ...owner, ...visitor }, now);
  });
  return { cookie: session, account: { account_id, name: key.account_name } };
}

const unknownKey = (): Refusal =>
  new Refusal("unauthorized", "This passkey does not sign anyone in here");

/** The relying party: the host that passkeys are bound to, and the origin of its pages. */
function partyOf(app: PasskeyApp): { readonly origin: string; readonly rpID: string } {
  const { origin, hostname } = new URL(app.public_url);
  if (hasPasskeys(app)) return { origin, rpID: hostname };
  throw new Refusal(
    "conflict",
    "Passkeys need an address with a name: set PUBLIC_URL, such as http://localhost:8080, and open the console there",
  );
}

type Owner = { readonly account_id: number; readonly user_id: number };

/** The passkey keeps it and returns it at a sign-in, so that the look-up goes to one account. */
function writeOwner({ account_id, user_id }: Owner): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(`${account_id}:${user_id}`));
}

function readOwner(handle: unknown): Owner | null {
  if (typeof handle !== "string") return null;
  const text = Buffer.from(handle, "base64url").toString();
  const [, account, user] = /^([1-9]\d{0,15}):([1-9]\d{0,15})$/.exec(text) ?? [];
  return account && user ? { account_id: Number(account), user_id: Number(user) } : null;
}
