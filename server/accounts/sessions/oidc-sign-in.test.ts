import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startOidcStub, type OidcStub } from "../../../test/support/oidc-stub.ts";
import { openOidc } from "../../drivers/oidc/open-oidc.ts";

let stub: OidcStub;
let api: TestApi;
let account: TestAccount;

before(async () => {
  stub = await startOidcStub();
  api = await startApi({ oidc: openOidc(stub.settings) });
  account = await makeAccount(api.app);
});
beforeEach(() => {
  api.clock.set(new Date());
  stub.userinfo = {};
});
after(async () => {
  await api.close();
  await stub.close();
});

const same_site = { "sec-fetch-site": "same-origin" };
const path = "/api/v1/session/oidc";

async function makeUser(of: TestAccount = account, email = `${unique("person")}@test.example`) {
  const json = { name: "Asha", email };
  const { body, text } = await api.send("POST", "/api/v1/users", { token: of.token, json });
  assert.ok(body.id, text);
  return { id: body.id as number, email };
}

const cookiesOf = ({ headers }: { headers: Headers }) =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0]!)
    .filter((cookie) => !cookie.endsWith("="))
    .join("; ");

/** Begins a sign-in; returns the browser's cookie and the query with which the provider sends it back. */
async function begin() {
  const begun = await api.send("POST", path, { headers: same_site });
  assert.equal(begun.status, 200, begun.text);
  const page = await fetch(begun.body.url as string, { redirect: "manual" });
  const back = new URL(page.headers.get("location")!);
  assert.equal(back.origin + back.pathname, "https://trunkline.example/sign-in/oidc");
  return { cookie: cookiesOf(begun), answer: back.search.slice(1) };
}

const finish = (cookie: string, json: object) =>
  api.send("POST", `${path}/answer`, { json, headers: { cookie, ...same_site } });

async function signInAs(claims: Record<string, unknown>) {
  stub.claims = claims;
  const { cookie, answer } = await begin();
  return finish(cookie, { answer });
}

test("whoever the provider has verified a user's address for is signed in as that user", async () => {
  const { id, email } = await makeUser();
  const signed_in = await signInAs({ email: email.toUpperCase(), email_verified: true });
  assert.deepEqual([signed_in.status, signed_in.body.signed_in], [200, true], signed_in.text);
  const cookie = cookiesOf(signed_in);
  assert.match(cookie, /^__Host-trunkline=trk_/);
  const me = await api.send("GET", "/api/v1/me", { headers: { cookie, ...same_site } });
  assert.equal(me.body.user.id, id);
  stub.userinfo = { email, email_verified: true };
  assert.equal((await signInAs({})).status, 200, "from the userinfo endpoint");
  const { body } = await api.send("GET", "/api/v1/session/options");
  assert.deepEqual(body.oidc, { label: "Example" });
});

test("an address that Entra ID says is verified (xms_edov) signs in, unless email_verified denies it or the address is not in the same token", async () => {
  const { email } = await makeUser();
  for (const xms_edov of [true, 1, "1", "true"]) {
    const signed_in = await signInAs({ email, xms_edov });
    assert.deepEqual([signed_in.status, signed_in.body.signed_in], [200, true], signed_in.text);
  }
  for (const claims of [
    { email, xms_edov: false },
    { email, xms_edov: 0 },
    { email, xms_edov: "0" },
    { email, xms_edov: "false" },
    { email, xms_edov: null },
    { email, xms_edov: true, email_verified: false },
    { email, xms_edov: true, email_verified: "true" },
    { email, xms_edov: true, email_verified: null },
  ])
    assert.equal((await signInAs(claims)).status, 401, JSON.stringify(claims));
  stub.userinfo = { email, xms_edov: true };
  assert.equal((await signInAs({})).status, 401, "not in the token");
  stub.userinfo = { email };
  assert.equal((await signInAs({ xms_edov: true })).status, 401, "the address is not in the token");
});

test("an address that is unknown, unverified or of an inactive user signs in as no one", async () => {
  const { email } = await makeUser();
  const inactive = await makeUser();
  const { token } = account;
  const json = { active: false };
  await api.send("PATCH", `/api/v1/users/${inactive.id}`, { token, json });
  for (const claims of [
    { email, email_verified: false },
    { email },
    { email, email_verified: "true" },
    {},
    { email: `${unique("stranger")}@test.example`, email_verified: true },
    { email: inactive.email, email_verified: true },
  ]) {
    const refused = await signInAs(claims);
    assert.equal(refused.status, 401, JSON.stringify(claims));
    assert.equal(cookiesOf(refused), "");
  }
});

test("a user who is deactivated while the provider's answer is checked gets no session", async () => {
  const { id, email } = await makeUser();
  const holder = await api.app.db.pool.connect();
  try {
    await holder.query("begin");
    const deactivate = "update users set active = false where account_id = $1 and id = $2";
    await holder.query(deactivate, [account.account_id, id]);
    const answer = signInAs({ email, email_verified: true });
    await awaitsLock(api.app.db.query);
    await holder.query("commit");
    const refused = await answer;
    assert.deepEqual([refused.status, cookiesOf(refused)], [401, ""]);
  } finally {
    holder.release(true);
  }
});

test("an answer counts once, in the browser that began, for ten minutes", async () => {
  const { email } = await makeUser();
  stub.claims = { email, email_verified: true };
  const [mine, other] = [await begin(), await begin()];
  assert.equal((await finish("", { answer: mine.answer })).status, 401, "without the cookie");
  assert.equal((await finish(other.cookie, { answer: mine.answer })).status, 401, "of another");
  const forged = `__Host-trunkline-oidc=${JSON.stringify({ email, expires_at: 9e15 })}`;
  assert.equal((await finish(forged, {})).status, 401, "not sealed");
  const twice = await Promise.all([0, 1].map(() => finish(mine.cookie, { answer: mine.answer })));
  assert.deepEqual(new Set(twice.map(({ status }) => status)), new Set([200, 401]));
  const late = await begin();
  api.clock.advance(10 * 60_000);
  assert.equal((await finish(late.cookie, { answer: late.answer })).status, 401, "too late");
});

test("a token that is not for this sign-in is refused", async () => {
  const { email } = await makeUser();
  const good = { email, email_verified: true };
  const past = Math.floor(Date.now() / 1_000) - 3_600;
  for (const wrong of [
    { nonce: "of another sign-in" },
    { nonce: undefined },
    { aud: "another client" },
    { iss: "https://elsewhere.example" },
    { exp: past },
  ])
    assert.equal((await signInAs({ ...good, ...wrong })).status, 401, JSON.stringify(wrong));
  stub.is_forger = true;
  assert.equal((await signInAs(good)).status, 401, "signed by someone else");
  stub.is_forger = false;
  const { cookie } = await begin();
  assert.equal((await finish(cookie, { answer: "error=access_denied" })).status, 401);
  assert.equal((await finish(cookie, {})).status, 401);
});

test("a person of several accounts chooses one, without signing in again", async () => {
  const other = await makeAccount(api.app);
  const third = await makeAccount(api.app);
  const { email } = await makeUser();
  await makeUser(other, email);
  const asked = await signInAs({ email, email_verified: true });
  assert.equal(asked.body.signed_in, false, asked.text);
  const choices = asked.body.choices.map((choice: { account_id: number }) => choice.account_id);
  assert.deepEqual(new Set(choices), new Set([account.account_id, other.account_id]));
  const cookie = cookiesOf(asked);
  const foreign = await finish(cookie, { account_id: third.account_id });
  assert.equal(foreign.status, 401, foreign.text);
  const chosen = await finish(cookie, { account_id: other.account_id });
  const headers = { cookie: cookiesOf(chosen), ...same_site };
  const me = await api.send("GET", "/api/v1/me", { headers });
  assert.equal(me.body.account.id, other.account_id);
});

test("a person of more than a hundred accounts is offered a hundred, and signs in to any of them by its ID", async () => {
  const { email } = await makeUser();
  await api.app.db.pool.query(
    `with made as (
       insert into accounts (name, features, created_at, updated_at)
       select 'Trap ' || n, '{}', now(), now() from generate_series(1, 100) n returning account_id
     ), person as (
       insert into users (account_id, name, email, created_at, updated_at)
       select account_id, 'Trap', $1, now(), now() from made returning account_id, id
     )
     insert into sign_in_emails (email, account_id, user_id) select $1, account_id, id from person`,
    [email],
  );
  const last = await makeAccount(api.app);
  const { id } = await makeUser(last, email);
  const asked = await signInAs({ email, email_verified: true });
  assert.deepEqual([asked.status, asked.body.signed_in], [200, false], asked.text);
  assert.deepEqual([asked.body.choices.length, asked.body.more_accounts], [100, true]);
  const signed_in = await finish(cookiesOf(asked), { account_id: last.account_id });
  assert.deepEqual([signed_in.status, signed_in.body.signed_in], [200, true], signed_in.text);
  const cookie = cookiesOf(signed_in);
  const me = await api.send("GET", "/api/v1/me", { headers: { cookie, ...same_site } });
  assert.deepEqual([me.body.account.id, me.body.user.id], [last.account_id, id]);
});

test("a verified address is valid for ten minutes after the provider's answer, however often it is sent", async () => {
  const { email } = await makeUser();
  await makeUser(await makeAccount(api.app), email);
  const asked = await signInAs({ email, email_verified: true });
  api.clock.advance(9 * 60_000);
  const again = await finish(cookiesOf(asked), {});
  assert.deepEqual([again.status, again.body.signed_in], [200, false], again.text);
  const renewed = cookiesOf(again);
  assert.notEqual(renewed, cookiesOf(asked));
  const { account_id } = account;
  api.clock.advance(59_000);
  assert.equal((await finish(renewed, { account_id })).status, 200, "within ten minutes");
  api.clock.advance(1_000);
  assert.equal((await finish(renewed, { account_id })).status, 401, "after ten minutes");
});

test("another site can neither begin nor end a sign-in", async () => {
  const cross = { "sec-fetch-site": "cross-site" };
  assert.equal((await api.send("POST", path, { headers: cross })).status, 403);
  const { cookie, answer } = await begin();
  const headers = { ...cross, cookie };
  const refused = await api.send("POST", `${path}/answer`, { json: { answer }, headers });
  assert.equal(refused.status, 403);
});

test("sign-ins that begin while the provider is slow share one request to it, and one that fails is not repeated for seconds", async () => {
  const slow = await startOidcStub();
  const oidc = openOidc(slow.settings);
  const begun_at = await startApi({ oidc });
  const begin_here = async () => (await begun_at.send("POST", path, { headers: same_site })).status;
  const { promise, reject } = Promise.withResolvers<void>();
  slow.until_described = promise;
  const counted = async () => {
    const { rows } = await begun_at.app.db.pool.query(
      "select count from sign_in_failures where subject like 'single sign-on begun from %'",
    );
    return (rows[0]?.count as number | undefined) ?? 0;
  };
  const begun = [begin_here(), begin_here(), begin_here()];
  await eventually(async () => (await counted()) === 3 && slow.discoveries > 0);
  slow.until_described = null;
  reject(new Error("the provider is down"));
  assert.deepEqual(await Promise.all(begun), [503, 503, 503]);
  assert.equal(await begin_here(), 503);
  assert.equal(slow.discoveries, 1);
  const page = "https://trunkline.example/sign-in/oidc";
  const is_back = () =>
    oidc.begin(page).then(
      () => true,
      () => false,
    );
  await eventually(is_back);
  assert.equal(await begin_here(), 200);
  assert.equal(slow.discoveries, 2);
  await begun_at.close();
  await slow.close();
});

test("an address begins 300 sign-ins in a quarter of an hour at most, and another is not affected", async () => {
  const proxied = await startApi({
    oidc: openOidc(stub.settings),
    trusted_proxies: ["127.0.0.0/8"],
  });
  const begin_from = async (address: string) => {
    const headers = { ...same_site, "x-forwarded-for": address };
    return (await proxied.send("POST", path, { headers })).status;
  };
  const row = { count: 299, began_at: proxied.clock.now() };
  const subject = "single sign-on begun from 203.0.113.7";
  await proxied.app.db.query
    .insertInto("sign_in_failures")
    .values({ subject, ...row })
    .execute();
  const statuses = [
    await begin_from("203.0.113.7"),
    await begin_from("203.0.113.7"),
    await begin_from("203.0.113.8"),
  ];
  assert.deepEqual(statuses, [200, 429, 200]);
  await proxied.close();
});

test("a provider that cannot be reached is a 503, before and after the redirect, and none at all a 404", async () => {
  const dying = await startOidcStub();
  const begun_before = await startApi({ oidc: openOidc(dying.settings) });
  const begin_at = (of: TestApi) => of.send("POST", path, { headers: same_site });
  const begun = await begin_at(begun_before);
  await dying.close();
  const state = new URL(begun.body.url as string).searchParams.get("state");
  const answered = await begun_before.send("POST", `${path}/answer`, {
    json: { answer: `code=1&state=${state}` },
    headers: { ...same_site, cookie: cookiesOf(begun) },
  });
  const unreachable = await startApi({ oidc: openOidc(dying.settings) });
  const none = await startApi();
  const statuses = [answered, await begin_at(unreachable), await begin_at(none)];
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [503, 503, 404],
  );
  await begun_before.close();
  await unreachable.close();
  await none.close();
});
