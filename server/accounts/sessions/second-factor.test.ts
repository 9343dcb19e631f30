import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import { startApi, type RequestOptions, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { startOidcStub, type OidcStub } from "../../../test/support/oidc-stub.ts";
import { openOidc } from "../../drivers/oidc/open-oidc.ts";
import { totpOf } from "./internal/second-factor.ts";

let stub: OidcStub;
let api: TestApi;
let account: TestAccount;

before(async () => {
  stub = await startOidcStub();
  api = await startApi({ oidc: openOidc(stub.settings) });
  account = await makeAccount(api.app);
});
beforeEach(() => api.clock.set(new Date()));
after(async () => {
  await api.close();
  await stub.close();
});

const password = "correct horse battery";
const same_site = { "sec-fetch-site": "same-origin" };
const step_ms = 30_000;

const post = (path: string, json: object, more: RequestOptions = {}) =>
  api.send("POST", path, { json, ...more, headers: { ...same_site, ...more.headers } });
const signIn = (json: object) => post("/api/v1/session", { password, ...json });
const cookieOf = ({ headers }: { headers: Headers }) =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0]!)
    .find((cookie) => cookie.startsWith("__Host-trunkline=trk_"));
const linkOf = async (id: number) => {
  const path = `/api/v1/users/${id}/sign-in-link`;
  const { body } = await api.send("POST", path, { token: account.token });
  return (body.path as string).split("#")[1]!;
};

/** Creates a user with a password; returns the cookie of the first session. */
async function makePerson() {
  const email = `${unique("person")}@test.example`;
  const json = { name: "Asha", email };
  const { body } = await api.send("POST", "/api/v1/users", { token: account.token, json });
  const id = body.id as number;
  const answer = await post("/api/v1/session/link", { link: await linkOf(id), password });
  return { id, email, headers: { ...same_site, cookie: cookieOf(answer)! } };
}

/** Creates a user with an authenticator app; `code` is its code now. */
async function makeProtected() {
  const person = await makePerson();
  const { headers } = person;
  const begun = await post("/api/v1/me/totp", { current_password: password }, { headers });
  assert.equal(begun.status, 201, begun.text);
  const { secret } = begun.body as { secret: string };
  const code = () => totpOf(secret).generate({ timestamp: api.clock.now().getTime() });
  const json = { code: code() };
  const confirmed = await api.send("PUT", "/api/v1/me/totp", { json, headers });
  assert.equal(confirmed.status, 200, confirmed.text);
  api.clock.advance(step_ms);
  return { ...person, secret, code, recovery_codes: confirmed.body.recovery_codes as string[] };
}

test("with an authenticator app, a password signs in with a code only", async () => {
  const { email, code } = await makeProtected();
  const asked = await signIn({ email });
  assert.deepEqual(
    [asked.status, asked.body, cookieOf(asked)],
    [200, { signed_in: false, choices: [], more_accounts: false, code_required: true }, undefined],
  );
  const wrong = await signIn({ email, code: "000000" });
  assertProblem(wrong, 401, "unauthorized");
  assert.equal(cookieOf(wrong), undefined);
  const done = await signIn({ email, code: code() });
  assert.equal(done.body.signed_in, true, done.text);
  assert.ok(cookieOf(done));
});

test("a code counts once, also in two sign-ins at the same time, and not after a later one", async () => {
  const { email, code } = await makeProtected();
  const early = code();
  api.clock.advance(step_ms);
  const now = code();
  const answers = await Promise.all([0, 1].map(() => signIn({ email, code: now })));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 401]));
  assert.equal((await signIn({ email, code: early })).status, 401);
});

test("each recovery code signs in once, however it is typed", async () => {
  const { email, headers, recovery_codes } = await makeProtected();
  assert.equal(new Set(recovery_codes).size, 10);
  const [first, second] = recovery_codes as [string, string];
  const answers = await Promise.all([0, 1].map(() => signIn({ email, code: first })));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 401]));
  const typed = second.toUpperCase().replaceAll("-", " ");
  assert.equal((await signIn({ email, code: typed })).body.signed_in, true);
  const { body } = await api.send("GET", "/api/v1/me/totp", { headers });
  assert.deepEqual(body, { enabled: true, recovery_codes_left: 8 });
});

test("after five wrong codes the right one is refused for a quarter of an hour, and a recovery code is not", async () => {
  const { email, code, recovery_codes } = await makeProtected();
  for (let guess = 0; guess < 5; guess++)
    assert.equal((await signIn({ email, code: `00000${guess}` })).status, 401);
  const refused = await signIn({ email, code: code() });
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  assert.equal((await signIn({ email, code: recovery_codes[0]! })).body.signed_in, true);
  api.clock.advance(15 * 60_000);
  assert.equal((await signIn({ email, code: code() })).status, 200);
});

test("a link to sign in, or for a new password, needs the code too and is not used up without it", async () => {
  const { id, code } = await makeProtected();
  const link = await linkOf(id);
  const use = (json: object) => post("/api/v1/session/link", { link, password, ...json });
  const asked = await use({});
  assert.deepEqual([asked.body.code_required, cookieOf(asked)], [true, undefined]);
  assert.equal((await use({ code: "000000" })).status, 401);
  assert.equal((await use({ code: code() })).body.signed_in, true);
});

test("a sign-in at the identity provider needs the code, unless the provider asked for a second factor", async () => {
  const { email, code } = await makeProtected();
  const begin = async () => {
    const begun = await post("/api/v1/session/oidc", {});
    const page = await fetch(begun.body.url as string, { redirect: "manual" });
    const answer = new URL(page.headers.get("location")!).search.slice(1);
    return { answer, cookie: begun.headers.get("set-cookie")!.split(";")[0]! };
  };
  const finish = (json: object, cookie: string) =>
    post("/api/v1/session/oidc/answer", json, { headers: { cookie } });
  stub.claims = { email, email_verified: true };
  const { answer, cookie } = await begin();
  const asked = await finish({ answer }, cookie);
  assert.equal(asked.body.code_required, true, asked.text);
  const kept = asked.headers.getSetCookie().at(-1)!.split(";")[0]!;
  const wrong = await finish({ code: "000000" }, kept);
  assert.deepEqual([wrong.status, wrong.headers.getSetCookie()], [401, []]);
  assert.equal((await finish({ code: code() }, kept)).body.signed_in, true);
  stub.claims = { ...stub.claims, amr: ["pwd", "mfa"] };
  const strong = await begin();
  assert.equal((await finish({ answer: strong.answer }, strong.cookie)).body.signed_in, true);
});

test("an app is set up with the password, counts from its first code, and is removed with a code", async () => {
  const { email, headers } = await makePerson();
  const { token } = account;
  assertProblem(await api.send("POST", "/api/v1/me/totp", { token, json: {} }), 403, "forbidden");
  assert.deepEqual(failingFields(await post("/api/v1/me/totp", {}, { headers })), [
    "current_password",
  ]);
  const begun = await post("/api/v1/me/totp", { current_password: password }, { headers });
  const { secret, uri } = begun.body as { secret: string; uri: string };
  assert.match(uri, /^otpauth:\/\/totp\/Trunkline:/);
  assert.equal((await signIn({ email })).body.signed_in, true, "not confirmed yet");
  const code = () => totpOf(secret).generate({ timestamp: api.clock.now().getTime() });
  const confirm = (text: string) =>
    api.send("PUT", "/api/v1/me/totp", { json: { code: text }, headers });
  assert.deepEqual(failingFields(await confirm("000000")), ["code"]);
  assert.equal((await confirm(code())).status, 200);
  assertProblem(await confirm(code()), 409, "conflict");
  const again = await post("/api/v1/me/totp", { current_password: password }, { headers });
  assertProblem(again, 409, "conflict");
  api.clock.advance(step_ms);
  const remove = (text: string) => post("/api/v1/me/totp/removal", { code: text }, { headers });
  assert.deepEqual(failingFields(await remove("000000")), ["code"]);
  assert.equal((await remove(code())).status, 200);
  assert.equal((await signIn({ email })).body.signed_in, true);
});

test("someone who manages users removes a lost app, but neither their own nor that of a stronger user", async () => {
  const { id, email } = await makeProtected();
  const path = `/api/v1/users/${id}/totp`;
  const { token } = account;
  const other = await makeAccount(api.app);
  const has = async () =>
    (await api.send("GET", `/api/v1/users/${id}`, { token })).body.has_totp as boolean;
  assert.equal((await api.send("DELETE", path, { token: other.token })).status, 404);
  assert.equal(await has(), true);
  assert.equal((await api.send("DELETE", path, { token })).status, 204);
  assert.equal(await has(), false);
  assert.equal((await api.send("DELETE", path, { token })).status, 204, "nothing left to remove");
  assert.equal((await signIn({ email })).body.signed_in, true);
  const weak = await makeAgentToken(api.app, account, ["users.manage"]);
  const { body } = await api.send("GET", "/api/v1/me", { token: weak });
  const self = await api.send("DELETE", `/api/v1/users/${body.user.id}/totp`, { token: weak });
  assertProblem(self, 403, "forbidden");
  const { rows } = await api.app.db.pool.query(
    "select id from users where account_id = $1 and is_owner limit 1",
    [account.account_id],
  );
  const owner = await api.send("DELETE", `/api/v1/users/${rows[0].id}/totp`, { token: weak });
  assertProblem(owner, 403, "forbidden");
});

test("the database contains neither the secret of an app nor a recovery code", async () => {
  const { id, secret, recovery_codes } = await makeProtected();
  const { rows } = await api.app.db.pool.query(
    "select secret, recovery_codes::text as codes from user_totp where user_id = $1",
    [id],
  );
  assert.match(rows[0].secret, /^sealed:v1:/);
  const stored = JSON.stringify(rows);
  for (const text of [
    secret,
    ...recovery_codes,
    ...recovery_codes.map((c) => c.replaceAll("-", "")),
  ])
    assert.ok(!stored.includes(text));
});
