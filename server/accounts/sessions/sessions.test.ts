import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startApi, type RequestOptions, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  makeToken,
  makeUser,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { makeChatNumber } from "../../../test/support/chat-factory.ts";
import { makeSandboxTrunk } from "../../../test/support/telephony-factory.ts";
import { hashPassword } from "./passwords.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
beforeEach(() => api.clock.set(new Date()));
after(() => api.close());

const password = "correct horse battery";
const hour_ms = 3_600_000;
const same_site = { "sec-fetch-site": "same-origin" };

/** Sends as a page of the console would. */
const browse = (method: string, path: string, cookie: string, more: RequestOptions = {}) =>
  api.send(method, path, { ...more, headers: { cookie, ...same_site, ...more.headers } });
const signIn = (json: object, headers: Record<string, string> = same_site) =>
  api.send("POST", "/api/v1/session", { json, headers });
const linkOf = async (user_id: number, token = account.token) =>
  api.send("POST", `/api/v1/users/${user_id}/sign-in-link`, { token });
const useLink = (json: object) =>
  api.send("POST", "/api/v1/session/link", { json, headers: same_site });
const cookieOf = ({ headers }: { headers: Headers }) => headers.get("set-cookie")!.split(";")[0]!;

/** Creates a user of an account with a password; returns id, email and the cookie of the first session. */
async function makeSignedIn(of: TestAccount = account, email = `${unique("person")}@test.example`) {
  const json = { name: "Asha", email };
  const user = await api.send("POST", "/api/v1/users", { token: of.token, json });
  const { body } = await linkOf(user.body.id, of.token);
  const link = body.path.split("#")[1];
  const answer = await useLink({ link, password });
  assert.equal(answer.status, 200);
  return { id: user.body.id as number, email, cookie: cookieOf(answer) };
}

test("a session is a cookie for our pages alone, and shows who is signed in", async () => {
  const { id, email } = await makeSignedIn();
  const answer = await signIn({ email: email.toUpperCase(), password });
  assert.deepEqual([answer.status, answer.body.signed_in], [200, true]);
  const [, ...attributes] = answer.headers.get("set-cookie")!.split("; ");
  assert.match(cookieOf(answer), /^__Host-trunkline=trk_/);
  assert.deepEqual(attributes.toSorted(), [
    "HttpOnly",
    `Max-Age=${14 * 86_400}`,
    "Path=/",
    "SameSite=Lax",
    "Secure",
  ]);
  const me = await browse("GET", "/api/v1/me", cookieOf(answer));
  assert.deepEqual(
    [me.body.user.id, me.body.account.id, me.body.token_kind, me.body.permissions],
    [id, account.account_id, "session", []],
  );
});

test("the text of a session is not accepted as a bearer token, nor a token as a session", async () => {
  const { cookie } = await makeSignedIn();
  const as_token = await api.send("GET", "/api/v1/me", { token: cookie.split("=")[1] });
  const as_cookie = await browse("GET", "/api/v1/me", `__Host-trunkline=${account.token}`);
  assert.deepEqual([as_token.status, as_cookie.status], [401, 401]);
});

test("a wrong password and an unknown address get the same answer", async () => {
  const { email } = await makeSignedIn();
  const wrong = await signIn({ email, password: "wrong password" });
  const unknown = await signIn({ email: "unknown@test.example", password });
  assert.deepEqual([wrong.status, unknown.status], [401, 401]);
  assert.equal(wrong.body.detail, unknown.body.detail);
});

test("the eleventh guess within a quarter of an hour is refused, also with the right password", async () => {
  const { email } = await makeSignedIn();
  for (let guess = 1; guess <= 10; guess++)
    assert.equal((await signIn({ email, password: `guess ${guess}` })).status, 401);
  const refused = await signIn({ email, password });
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  api.clock.advance(hour_ms);
  assert.equal((await signIn({ email, password })).status, 200);
});

test("a write with the cookie from another site's page is refused and changes nothing", async () => {
  const { cookie, email } = await makeSignedIn();
  const host = new URL(api.url).host;
  const hostile = [
    {},
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site", origin: `http://${host}` },
    { origin: "https://evil.example" },
    { origin: "null" },
  ];
  for (const headers of hostile) {
    const out = await api.send("DELETE", "/api/v1/session", { headers: { cookie, ...headers } });
    assert.equal(out.status, 403, JSON.stringify(headers));
    assert.equal((await signIn({ email, password }, headers)).status, 403);
  }
  assert.equal((await browse("GET", "/api/v1/me", cookie)).status, 200);
  const own = { cookie, origin: `http://${host}` };
  assert.equal((await api.send("DELETE", "/api/v1/session", { headers: own })).status, 200);
});

test("a sign-in over plain http from another machine explains that the console needs https", async () => {
  const { email } = await makeSignedIn();
  const from = (origin: string) => signIn({ email, password }, { ...same_site, origin });
  const refused = await from("http://outreach.example");
  assert.deepEqual([refused.status, refused.headers.get("set-cookie")], [403, null]);
  assert.match(refused.body.detail, /https/);
  for (const origin of ["https://outreach.example", "http://localhost:8080", "http://[::1]:8080"])
    assert.equal((await from(origin)).status, 200, origin);
});

test("a session ends after twelve idle hours, and after fourteen days of use", async () => {
  const { cookie } = await makeSignedIn();
  const reads = async () => (await browse("GET", "/api/v1/me", cookie)).status;
  for (let hours = 0; hours < 13 * 24; hours += 11) {
    assert.equal(await reads(), 200, `after ${hours} h`);
    api.clock.advance(11 * hour_ms);
  }
  api.clock.advance(24 * hour_ms);
  assert.equal(await reads(), 401);
  const { cookie: idle } = await makeSignedIn();
  api.clock.advance(12 * hour_ms + 1_000);
  assert.equal((await browse("GET", "/api/v1/me", idle)).status, 401);
});

test("a person of several accounts chooses one, and only accounts with that password are offered", async () => {
  const other = await makeAccount(api.app);
  const third = await makeAccount(api.app);
  const { email } = await makeSignedIn();
  await makeSignedIn(other, email);
  await api.send("POST", "/api/v1/users", { token: third.token, json: { name: "Trap", email } });
  const choice = await signIn({ email, password });
  assert.equal(choice.body.signed_in, false);
  assert.equal(choice.headers.get("set-cookie"), null);
  assert.deepEqual(
    choice.body.choices.map(({ account_id }: { account_id: number }) => account_id),
    [account.account_id, other.account_id],
  );
  const chosen = await signIn({ email, password, account_id: other.account_id });
  const me = await browse("GET", "/api/v1/me", cookieOf(chosen));
  assert.equal(me.body.account.id, other.account_id);
});

test("a person of more than ten accounts is offered ten and signs in to any of them by its ID, whatever passwords the others have", async () => {
  const { email } = await makeSignedIn();
  const own = [account];
  for (let n = 2; n <= 11; n++) {
    const other = await makeAccount(api.app);
    await makeSignedIn(other, email);
    own.push(other);
  }
  const last = own.at(-1)!;
  const choice = await signIn({ email, password });
  assert.deepEqual([choice.status, choice.body.signed_in], [200, false], choice.text);
  assert.deepEqual([choice.body.choices.length, choice.body.more_accounts], [10, true]);
  const signInToLast = async () => {
    const chosen = await signIn({ email, password, account_id: last.account_id });
    assert.deepEqual([chosen.status, chosen.body.signed_in], [200, true], chosen.text);
    const me = await browse("GET", "/api/v1/me", cookieOf(chosen));
    assert.equal(me.body.account.id, last.account_id);
  };
  await signInToLast();
  // The others have a password that the person does not know.
  const password_hash = await hashPassword("not the person's password", "127.0.0.1");
  await api.app.db.pool.query(
    `update user_passwords set password_hash = $1
     where account_id = any ($2) and (account_id, user_id) in (select account_id, user_id from sign_in_emails where email = $3)`,
    [password_hash, own.slice(0, -1).map(({ account_id }) => account_id), email],
  );
  await signInToLast();
  const not_there = await makeAccount(api.app);
  const wrong = await signIn({ email, password, account_id: not_there.account_id });
  assert.equal(wrong.status, 401);
});

test("a link signs in once, until it expires, and a new password ends the user's other sessions", async () => {
  const { id, email, cookie } = await makeSignedIn();
  const { body } = await linkOf(id);
  const link = body.path.split("#")[1];
  const answer = await useLink({ link, password: "another good password" });
  assert.equal((await browse("GET", "/api/v1/me", cookieOf(answer))).status, 200);
  assert.equal((await browse("GET", "/api/v1/me", cookie)).status, 401, "the former session");
  assert.equal((await signIn({ email, password })).status, 401, "the former password");
  assert.equal((await useLink({ link })).status, 401, "used");
  const late = (await linkOf(id)).body.path.split("#")[1];
  api.clock.advance(73 * hour_ms);
  assert.equal((await useLink({ link: late })).status, 401, "expired");
  assert.equal((await useLink({ link: `${late.slice(0, -1)}g` })).status, 401, "malformed");
});

test("a link for a user with more permissions than the grantor is refused", async () => {
  const manager = await makeAgentToken(api.app, account, ["users.manage"]);
  const refused = await linkOf(account.owner_id, manager);
  assert.equal(refused.status, 403);
  const other = await makeAccount(api.app);
  assert.equal((await linkOf(account.owner_id, other.token)).status, 404);
});

test("signing out ends one session, and signing out everywhere all of the user's", async () => {
  const { email, cookie } = await makeSignedIn();
  const [second, third] = [await signIn({ email, password }), await signIn({ email, password })];
  const works = async (one: string) => (await browse("GET", "/api/v1/me", one)).status;
  const out = await browse("DELETE", "/api/v1/session", cookie);
  assert.match(out.headers.get("set-cookie")!, /^__Host-trunkline=;/);
  assert.deepEqual([await works(cookie), await works(cookieOf(second))], [401, 200]);
  await browse("DELETE", "/api/v1/sessions", cookieOf(second));
  assert.deepEqual([await works(cookieOf(second)), await works(cookieOf(third))], [401, 401]);
});

test("the sessions of a deactivated user do not go on when the user is activated again", async () => {
  const { id, cookie } = await makeSignedIn();
  for (const active of [false, true]) {
    const { token } = account;
    const answer = await api.send("PATCH", `/api/v1/users/${id}`, { token, json: { active } });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await browse("GET", "/api/v1/me", cookie)).status, 401);
  }
});

test("ending a user's sessions records an entry for each that was open, and none for those that had expired", async () => {
  const { id, email } = await makeSignedIn();
  for (let session = 0; session < 2; session++) await signIn({ email, password });
  api.clock.advance(15 * 24 * hour_ms);
  const opened: string[] = [];
  for (let session = 0; session < 2; session++) {
    const cookie = cookieOf(await signIn({ email, password }));
    const { body } = await browse("GET", "/api/v1/sessions", cookie);
    opened.push(String(body.data[0].id));
  }
  await api.send("PATCH", `/api/v1/users/${id}`, { token: account.token, json: { active: false } });
  const ended = await api.send("GET", "/api/v1/audit?action=session.ended", {
    token: account.token,
  });
  const entries = ended.body.data.filter(
    ({ detail }: { detail: { user_id?: number } }) => detail.user_id === id,
  );
  assert.deepEqual(
    entries.map(({ subject_id }: { subject_id: string }) => subject_id).toSorted(),
    opened.toSorted(),
  );
});

test("a user lists and ends the own sessions alone, each with its client", async () => {
  const { email, cookie } = await makeSignedIn();
  const elsewhere = { ...same_site, "user-agent": "Phone/1.0" };
  const phone = cookieOf(await signIn({ email, password }, elsewhere));
  const stranger = await makeSignedIn();
  const sessions = async (of: string) => (await browse("GET", "/api/v1/sessions", of)).body.data;
  const [own, other, ...rest] = await sessions(cookie);
  assert.deepEqual(
    [own.is_current, other.is_current, other.user_agent, other.address, rest],
    [true, false, "Phone/1.0", "127.0.0.1", []],
  );
  const end = (id: number) => browse("DELETE", `/api/v1/sessions/${id}`, cookie);
  const [{ id: foreign }] = await sessions(stranger.cookie);
  assert.equal((await end(foreign)).status, 404);
  const { body: tokens } = await api.send("GET", "/api/v1/tokens", { token: account.token });
  assert.equal((await end(tokens.data[0].id)).status, 404, "a token");
  assert.deepEqual([(await end(other.id)).status, (await end(other.id)).status], [204, 404]);
  const works = async (one: string) => (await browse("GET", "/api/v1/me", one)).status;
  assert.deepEqual([await works(cookie), await works(phone)], [200, 401]);
  api.clock.advance(11 * hour_ms);
  await works(cookie);
  await signIn({ email, password });
  api.clock.advance(2 * hour_ms);
  assert.equal((await sessions(cookie)).length, 2, "idle, but used meanwhile");
  const by_token = await api.send("GET", "/api/v1/sessions", { token: account.token });
  assert.equal(by_token.status, 403);
});

test("signing out the others keeps this session", async () => {
  const { email, cookie } = await makeSignedIn();
  const other = cookieOf(await signIn({ email, password }));
  const out = await browse("DELETE", "/api/v1/sessions?keep_this=true", cookie);
  assert.deepEqual([out.status, out.headers.get("set-cookie")], [200, null]);
  const works = async (one: string) => (await browse("GET", "/api/v1/me", one)).status;
  assert.deepEqual([await works(cookie), await works(other)], [200, 401]);
});

test("a user changes the own name, and nothing else", async () => {
  const { cookie } = await makeSignedIn();
  const change = (json: object) => browse("PATCH", "/api/v1/me", cookie, { json });
  assert.equal((await change({ name: "Asha Rao" })).status, 200);
  assert.equal((await browse("GET", "/api/v1/me", cookie)).body.user.name, "Asha Rao");
  assert.deepEqual(
    [(await change({ name: " " })).status, (await change({ role_id: 1 })).status],
    [422, 422],
  );
});

test("a password is changed with the current one alone, and by a session alone", async () => {
  const { cookie } = await makeSignedIn();
  const change = (json: object) => browse("PUT", "/api/v1/me/password", cookie, { json });
  const wrong = await change({ current_password: "wrong", password: "a new good password" });
  assert.deepEqual([wrong.status, wrong.body.errors[0].field], [422, "current_password"]);
  const short = await change({ current_password: password, password: "short" });
  assert.deepEqual([short.status, short.body.errors[0].field], [422, "password"]);
  const right = await change({ current_password: password, password: "a new good password" });
  assert.equal(right.status, 200);
  const by_token = await api.send("PUT", "/api/v1/me/password", {
    token: account.token,
    json: { password: "a new good password" },
  });
  assert.equal(by_token.status, 403);
});

test("a password that is replaced while it is checked neither signs in nor sets another", async () => {
  const { id, email, cookie } = await makeSignedIn();
  const owner = [account.account_id, id];
  const holder = await api.app.db.pool.connect();
  try {
    await holder.query("begin");
    await holder.query(
      "select from users where account_id = $1 and id = $2 for no key update",
      owner,
    );
    const change = { current_password: password, password: "another horse battery" };
    const answers = Promise.all([
      signIn({ email, password }),
      browse("PUT", "/api/v1/me/password", cookie, { json: change }),
    ]);
    await awaitsLock(api.app.db.query, 2);
    await holder.query(
      "update user_passwords set password_hash = password_hash || 'x' where account_id = $1 and user_id = $2",
      owner,
    );
    await holder.query("commit");
    const [signed_in, changed] = await answers;
    assert.deepEqual([signed_in.status, changed.status], [401, 422]);
  } finally {
    holder.release(true);
  }
});

test("a user who is deactivated while the password is checked gets no session", async () => {
  const { id, email } = await makeSignedIn();
  const owner = [account.account_id, id];
  const holder = await api.app.db.pool.connect();
  try {
    await holder.query("begin");
    const deactivate = "update users set active = false where account_id = $1 and id = $2";
    await holder.query(deactivate, owner);
    const answer = signIn({ email, password });
    await awaitsLock(api.app.db.query);
    await holder.query("commit");
    const { status, headers } = await answer;
    assert.deepEqual([status, headers.get("set-cookie")], [401, null]);
  } finally {
    holder.release(true);
  }
});

test("after ten wrong current passwords the right one is refused for a quarter of an hour, whatever it is asked for", async () => {
  const { cookie, email } = await makeSignedIn();
  const json = (current_password: string) => ({ json: { current_password } });
  const addApp = (text: string) => browse("POST", "/api/v1/me/totp", cookie, json(text));
  const addPasskey = (text: string) =>
    browse("POST", "/api/v1/me/passkeys/options", cookie, json(text));
  assert.equal((await addApp(password)).status, 201, "a right one does not count");
  for (let guess = 1; guess <= 10; guess++)
    assert.equal((await (guess % 2 ? addApp : addPasskey)(`guess ${guess}`)).status, 422);
  const refused = await addPasskey(password);
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  const change = { json: { current_password: password, password: "a new good password" } };
  assert.equal((await browse("PUT", "/api/v1/me/password", cookie, change)).status, 429);
  assert.equal((await signIn({ email, password })).status, 200, "sign-ins are counted apart");
  api.clock.advance(15 * 60_000);
  assert.equal((await addPasskey(password)).status, 200);
});

test("a user who signed in by a link alone sets the first password without another, and no later one", async () => {
  const json = { name: "Ravi", email: `${unique("person")}@test.example` };
  const user = await api.send("POST", "/api/v1/users", { token: account.token, json });
  const link = (await linkOf(user.body.id)).body.path.split("#")[1];
  const cookie = cookieOf(await useLink({ link }));
  const hasPassword = async () => (await browse("GET", "/api/v1/me", cookie)).body.has_password;
  assert.equal(await hasPassword(), false);
  const set = (text: string) =>
    browse("PUT", "/api/v1/me/password", cookie, { json: { password: text } });
  assert.equal((await set(password)).status, 200);
  assert.equal(await hasPassword(), true);
  const again = await set("a new good password");
  assert.deepEqual([again.status, again.body.errors[0].field], [422, "current_password"]);
  assert.equal((await signIn({ email: json.email, password })).status, 200);
});

test("the own email address is changed with the current password alone, and other users' without", async () => {
  const { id, cookie, email } = await makeSignedIn();
  const { body: role } = await api.send("POST", "/api/v1/roles", {
    token: account.token,
    json: { name: unique("role"), permissions: ["users.manage"] },
  });
  const path = `/api/v1/users/${id}`;
  const given = await api.send("PATCH", path, {
    token: account.token,
    json: { role_id: role.id },
  });
  assert.equal(given.status, 200, given.text);
  const agent = await makeToken(api.app, account, { kind: "agent", user_id: id });
  const moved = `${unique("moved")}@test.example`;
  const asSession = (json: object, to = path) => browse("PATCH", to, cookie, { json });
  const violation = [{ field: "current_password", reason: "is not your current password" }];
  for (const refused of [
    await asSession({ email: moved }),
    await asSession({ email: moved, current_password: "wrong password" }),
    await api.send("PATCH", path, { token: agent, json: { email: moved } }),
  ]) {
    assert.equal(refused.status, 422, refused.text);
    assert.deepEqual(refused.body.errors, violation);
  }
  const same = await asSession({ email: email.toUpperCase(), name: "Asha B." });
  assert.deepEqual([same.status, same.body.email], [200, email], same.text);
  const changed = await asSession({ email: moved, current_password: password });
  assert.deepEqual([changed.status, changed.body.email], [200, moved], changed.text);
  const other = await makeUser(api.app, account);
  const others = `${unique("other")}@test.example`;
  const theirs = await asSession({ email: others }, `/api/v1/users/${other}`);
  assert.deepEqual([theirs.status, theirs.body.email], [200, others], theirs.text);
});

test("sessions are not listed among tokens, and the database contains no password", async () => {
  await makeSignedIn();
  const tokens = await api.send("GET", "/api/v1/tokens?limit=200", { token: account.token });
  assert.ok(tokens.body.data.every(({ kind }: { kind: string }) => kind !== "session"));
  const { rows } = await api.app.db.pool.query("select password_hash from user_passwords");
  assert.ok(rows.length > 0 && rows.every((row) => row.password_hash.startsWith("$argon2id$")));
});

test("the answer about oneself has the password's state, the credit that one may see, and the drivers in use", async () => {
  const own = await makeAccount(api.app);
  const me = async (token: string) => (await api.send("GET", "/api/v1/me", { token })).body;
  const before_set_up = await me(own.token);
  assert.deepEqual(
    [before_set_up.has_password, before_set_up.credits, before_set_up.drivers.chat],
    [false, { chat: 0, call: 0 }, []],
  );
  await makeCredits(api.app, own, { chat: 7, call: 3 });
  await makeChatNumber(api.app, own);
  await makeSandboxTrunk(api.app, own);
  const { credits, drivers } = await me(own.token);
  assert.deepEqual([credits, drivers.chat], [{ chat: 7, call: 3 }, ["sandbox"]]);
  assert.ok(drivers.voice.includes("sandbox"));
  const limited = await makeAgentToken(api.app, own, []);
  assert.equal((await me(limited)).credits, null);
  const signed_in = await makeSignedIn();
  assert.equal((await browse("GET", "/api/v1/me", signed_in.cookie)).body.has_password, true);
});
