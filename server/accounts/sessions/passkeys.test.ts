import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAuthenticator, type Deviation } from "../../../test/support/soft-authenticator.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
beforeEach(() => api.clock.set(new Date()));
after(() => api.close());

const password = "correct horse battery";
const origin = "https://trunkline.example";
const same_site = { "sec-fetch-site": "same-origin" };

const post = (path: string, json: object | undefined, headers: Record<string, string> = {}) =>
  api.send("POST", path, { json, headers: { ...same_site, ...headers } });
const cookieOf = ({ headers }: { headers: Headers }, name: string) =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0]!)
    .find((cookie) => cookie.startsWith(`__Host-trunkline${name}=`) && !cookie.endsWith("="));

async function linkOf(id: number) {
  const { token } = account;
  const { body } = await api.send("POST", `/api/v1/users/${id}/sign-in-link`, { token });
  return (body.path as string).split("#")[1]!;
}

async function makePerson() {
  const email = `${unique("person")}@test.example`;
  const json = { name: "Asha", email };
  const { body } = await api.send("POST", "/api/v1/users", { token: account.token, json });
  const id = body.id as number;
  const answer = await post("/api/v1/session/link", { link: await linkOf(id), password });
  return { id, email, cookie: cookieOf(answer, "")! };
}

/** Returns the status of the user's session. */
const readMe = async ({ cookie }: { readonly cookie: string }) =>
  (await api.send("GET", "/api/v1/me", { headers: { ...same_site, cookie } })).status;
const countPasskeys = async (id: number) =>
  (await api.send("GET", `/api/v1/users/${id}`, { token: account.token })).body.passkeys as number;
/** The audit entries of removed passkeys of a user: the remover and the passkey. */
const removals = async (id: number) =>
  (
    await api.send("GET", "/api/v1/audit?action=passkey.removed", { token: account.token })
  ).body.data
    .filter(({ detail }: { detail: { user_id: number } }) => detail.user_id === id)
    .map((entry: { user_id: number; subject_id: string }) => [entry.user_id, entry.subject_id]);

type Person = Awaited<ReturnType<typeof makePerson>>;
type Authenticator = ReturnType<typeof makeAuthenticator>;

async function add(person: Person, authenticator: Authenticator, deviation: Deviation = {}) {
  const { cookie } = person;
  const begun = await post(
    "/api/v1/me/passkeys/options",
    { current_password: password },
    { cookie },
  );
  assert.equal(begun.status, 200, begun.text);
  const response = authenticator.create(begun.body.options, deviation);
  return post(
    "/api/v1/me/passkeys",
    { name: "Laptop", response },
    { cookie: `${cookie}; ${cookieOf(begun, "-passkey")}` },
  );
}

/** Creates a user with a passkey. */
async function makeHolder() {
  const person = await makePerson();
  const authenticator = makeAuthenticator(origin);
  const added = await add(person, authenticator);
  assert.equal(added.status, 201, added.text);
  return { ...person, authenticator, passkey: added.body.id as number };
}

async function begin() {
  const begun = await post("/api/v1/session/passkey/options", undefined);
  assert.equal(begun.status, 200, begun.text);
  return { options: begun.body.options, cookie: cookieOf(begun, "-passkey")! };
}

const finish = (cookie: string, response: object) =>
  post("/api/v1/session/passkey", { response }, { cookie });

async function signIn(authenticator: Authenticator, deviation: Deviation = {}) {
  const { options, cookie } = await begin();
  return finish(cookie, authenticator.get(options, deviation));
}

test("a passkey signs its user in, without a password and without a code", async () => {
  const { id, authenticator } = await makeHolder();
  const answer = await signIn(authenticator);
  assert.equal(answer.body.signed_in, true, answer.text);
  const headers = { ...same_site, cookie: cookieOf(answer, "")! };
  const me = await api.send("GET", "/api/v1/me", { headers });
  assert.equal(me.body.user.id, id);
  assert.equal((await signIn(authenticator)).body.signed_in, true, "again");
});

test("what was signed counts once, also in two requests at the same time, and for five minutes", async () => {
  const { authenticator } = await makeHolder();
  const { options, cookie } = await begin();
  const signed = authenticator.get(options);
  const twice = await Promise.all([0, 1].map(() => finish(cookie, signed)));
  assert.deepEqual(new Set(twice.map(({ status }) => status)), new Set([200, 401]));
  const late = await begin();
  api.clock.advance(5 * 60_000);
  assert.equal((await finish(late.cookie, authenticator.get(late.options))).status, 401);
});

test("what was signed for another challenge, page, host or user is refused, as is a device that was not unlocked", async () => {
  const { authenticator } = await makeHolder();
  const other = await makeHolder();
  const [mine, theirs] = [await begin(), await begin()];
  assert.equal((await finish(theirs.cookie, authenticator.get(mine.options))).status, 401);
  assert.equal((await finish("", authenticator.get(mine.options))).status, 401);
  const handle = Buffer.from(`${account.account_id}:${other.id}`).toString("base64url");
  for (const deviation of [
    { origin: "https://trunkline.example.evil" },
    { rp_id: "evil.example" },
    { user_handle: handle },
    { user_handle: "not of ours" },
    { is_unlocked: false },
  ]) {
    const refused = await signIn(authenticator, deviation);
    assertProblem(refused, 401, "unauthorized");
    assert.equal(cookieOf(refused, ""), undefined);
  }
  const stranger = makeAuthenticator(origin);
  stranger.create({ challenge: "AAAA", rp: { id: "trunkline.example" }, user: { id: handle } });
  assert.equal((await signIn(stranger)).status, 401);
});

test("a passkey is added with the password, in the session that began, and only once", async () => {
  const person = await makePerson();
  const { cookie } = person;
  const without = await post("/api/v1/me/passkeys/options", {}, { cookie });
  assert.deepEqual(failingFields(without), ["current_password"]);
  const authenticator = makeAuthenticator(origin);
  assert.deepEqual(failingFields(await add(person, authenticator, { rp_id: "evil.example" })), [
    "response",
  ]);
  assert.equal((await add(person, authenticator)).status, 201);
  assert.deepEqual(failingFields(await add(person, authenticator)), ["response"]);
  const thief = await makePerson();
  const begun = await post(
    "/api/v1/me/passkeys/options",
    { current_password: password },
    { cookie },
  );
  const response = makeAuthenticator(origin).create(begun.body.options);
  const foreign = { cookie: `${thief.cookie}; ${cookieOf(begun, "-passkey")}` };
  const refused = await post("/api/v1/me/passkeys", { name: "Theirs", response }, foreign);
  assertProblem(refused, 401, "unauthorized");
});

test("a removed passkey and that of a deactivated user sign no one in", async () => {
  const { cookie, authenticator, passkey } = await makeHolder();
  const headers = { ...same_site, cookie };
  const other = await makeHolder();
  const theirs = { ...same_site, cookie: other.cookie };
  const path = `/api/v1/me/passkeys/${passkey}`;
  assert.equal((await api.send("DELETE", path, { headers: theirs })).status, 404);
  const listed = await api.send("GET", "/api/v1/me/passkeys", { headers });
  assert.deepEqual(
    listed.body.data.map(({ id, name }: { id: number; name: string }) => [id, name]),
    [[passkey, "Laptop"]],
  );
  assert.equal((await api.send("DELETE", path, { headers })).status, 204);
  assert.equal((await signIn(authenticator)).status, 401);
  const json = { active: false };
  await api.send("PATCH", `/api/v1/users/${other.id}`, { token: account.token, json });
  assert.equal((await signIn(other.authenticator)).status, 401);
});

test("a new password by a link removes the user's passkeys, and signing in by a link alone does not", async () => {
  const person = await makeHolder();
  const { id, authenticator, passkey } = person;
  const other = await makeHolder();
  assert.equal((await post("/api/v1/session/link", { link: await linkOf(id) })).status, 200);
  assert.equal((await signIn(authenticator)).body.signed_in, true);
  const link = await linkOf(id);
  const reset = await post("/api/v1/session/link", { link, password: "a brand new password" });
  assert.equal(reset.status, 200);
  assert.equal((await signIn(authenticator)).status, 401);
  assert.deepEqual([await countPasskeys(id), await countPasskeys(other.id)], [0, 1]);
  assert.deepEqual(await removals(id), [[id, String(passkey)]]);
  assert.equal((await signIn(other.authenticator)).body.signed_in, true, "another user's");
});

test("a request in progress neither adds a passkey nor signs in with one after a new password has removed them", async () => {
  const person = await makeHolder();
  const begun = await post(
    "/api/v1/me/passkeys/options",
    { current_password: password },
    { cookie: person.cookie },
  );
  const added = makeAuthenticator(origin).create(begun.body.options);
  const { options, cookie } = await begin();
  const signed = person.authenticator.get(options);
  const owner = [account.account_id, person.id];
  const reset = await api.app.db.pool.connect();
  try {
    await reset.query("begin");
    await reset.query(
      "select from users where account_id = $1 and id = $2 for no key update",
      owner,
    );
    const answers = Promise.all([
      post(
        "/api/v1/me/passkeys",
        { name: "Theirs", response: added },
        { cookie: `${person.cookie}; ${cookieOf(begun, "-passkey")}` },
      ),
      finish(cookie, signed),
    ]);
    await eventually(async () => {
      const { rows } = await api.app.db.pool.query(
        `select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length === 2;
    });
    await reset.query(
      `update tokens set revoked_at = now()
       where account_id = $1 and user_id = $2 and kind = 'session'`,
      owner,
    );
    await reset.query("delete from user_passkeys where account_id = $1 and user_id = $2", owner);
    await reset.query("commit");
    for (const answer of await answers) assertProblem(answer, 401, "unauthorized");
  } finally {
    reset.release(true);
  }
  assert.equal(await countPasskeys(person.id), 0);
});

test("a user who is deactivated while a passkey is checked gets no session", async () => {
  const person = await makeHolder();
  const { options, cookie } = await begin();
  const holder = await api.app.db.pool.connect();
  try {
    await holder.query("begin");
    const deactivate = "update users set active = false where account_id = $1 and id = $2";
    await holder.query(deactivate, [account.account_id, person.id]);
    const answer = finish(cookie, person.authenticator.get(options));
    await awaitsLock(api.app.db.query);
    await holder.query("commit");
    assertProblem(await answer, 401, "unauthorized");
  } finally {
    holder.release(true);
  }
});

test("someone who manages users removes all passkeys of a user and ends the sessions, but neither their own nor those of a stronger user", async () => {
  const person = await makeHolder();
  const second = makeAuthenticator(origin);
  const added = await add(person, second);
  assert.equal(await countPasskeys(person.id), 2);
  const { token } = account;
  const path = `/api/v1/users/${person.id}/passkeys`;
  const other = await makeAccount(api.app);
  assert.equal((await api.send("DELETE", path, { token: other.token })).status, 404);
  const reader = await makeAgentToken(api.app, account, ["users.read"]);
  assertProblem(await api.send("DELETE", path, { token: reader }), 403, "forbidden");
  assert.equal(await countPasskeys(person.id), 2);
  assert.equal(await readMe(person), 200);
  assert.equal((await api.send("DELETE", path, { token })).status, 204);
  assert.equal(await countPasskeys(person.id), 0);
  assert.equal(await readMe(person), 401, "a session that a passkey began ends too");
  for (const one of [person.authenticator, second]) assert.equal((await signIn(one)).status, 401);
  assert.deepEqual(
    (await removals(person.id)).map(([by, key]: [number, string]) => [by, Number(key)]),
    [
      [account.owner_id, added.body.id],
      [account.owner_id, person.passkey],
    ],
  );
  const listed = await api.send("GET", "/api/v1/users?limit=200", { token });
  const shown = new Map(
    listed.body.data.map((user: { id: number; passkeys: number }) => [user.id, user.passkeys]),
  );
  assert.equal(shown.get(person.id), 0);
  const without = await makePerson();
  const none = await api.send("DELETE", `/api/v1/users/${without.id}/passkeys`, { token });
  assert.deepEqual([none.status, await readMe(without)], [204, 200], "nothing to remove");

  const weak = await makeAgentToken(api.app, account, ["users.manage"]);
  const { body } = await api.send("GET", "/api/v1/me", { token: weak });
  for (const id of [body.user.id, account.owner_id])
    assertProblem(
      await api.send("DELETE", `/api/v1/users/${id}/passkeys`, { token: weak }),
      403,
      "forbidden",
    );
});
