import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startApi, type RequestOptions, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startSmtpServer, type SmtpServer } from "../../../test/support/smtp-server.ts";
import { operatorOf } from "../roles/grantor.ts";
import { updateUser } from "../users/update-user.ts";

let api: TestApi;
let smtp: SmtpServer;
let account: TestAccount;

before(async () => {
  smtp = await startSmtpServer();
  api = await startApi({ mail: smtp.mail });
});
beforeEach(async () => {
  api.clock.set(new Date());
  // Each test has its own counts of mails and attempts.
  await api.app.db.pool.query("delete from sign_in_failures");
  account = await makeAccount(api.app);
});
after(async () => {
  await api.close();
  await smtp.close();
});

const password = "correct horse battery";
const hour_ms = 3_600_000;
const headers = { "sec-fetch-site": "same-origin" };
const newEmail = () => `${unique("person")}@test.example`;
const browse = (path: string, json: object) => api.send("POST", path, { headers, json });
const invite = (json: object, token = account.token, more: RequestOptions = {}) =>
  api.send("POST", "/api/v1/invitations", { token, json, ...more });
const linkOf = (text: string) => /#(\d+_\d+_[0-9a-f]{64})/.exec(text)![1]!;
const accept = (link: string, more: object = {}) =>
  browse("/api/v1/session/invitation", { link, name: "Asha", password, ...more });
const preview = (link: string) => browse("/api/v1/session/invitation/preview", { link });
const mailsTo = (email: string) => smtp.mails.filter(({ to }) => to.includes(email));
const signIn = (email: string, with_password = password) =>
  browse("/api/v1/session", { email, password: with_password });
const cookieOf = ({ headers: received }: { headers: Headers }) =>
  received.get("set-cookie")!.split(";")[0]!;
const me = (cookie: string) => api.send("GET", "/api/v1/me", { headers: { ...headers, cookie } });
const makeRole = async (permissions: string[], token = account.token) =>
  (await api.send("POST", "/api/v1/roles", { token, json: { name: unique("role"), permissions } }))
    .body.id as number;
const auditOf = async (action: string) =>
  (await api.send("GET", `/api/v1/audit?action=${action}`, { token: account.token })).body.data;

test("an invitation creates the user with its role and password, once, and is mailed", async () => {
  const email = newEmail();
  const role_id = await makeRole(["crm.read"]);
  const { status, body } = await invite({ email: email.toUpperCase(), role_id });
  assert.deepEqual([status, body.email, body.role_id, body.emailed], [201, email, role_id, true]);
  const link = linkOf(mailsTo(email)[0]!.text);
  assert.equal(`/sign-in/invitation#${link}`, body.path);
  assert.match(mailsTo(email)[0]!.text, /https:\/\/trunkline\.example\/sign-in\/invitation#/);
  const opened = await preview(link);
  assert.deepEqual([opened.status, opened.body.email], [200, email]);
  assert.equal((await signIn(email)).status, 401, "before it is accepted");
  const accepted = await accept(link);
  assert.equal(accepted.status, 200);
  const { body: who } = await me(cookieOf(accepted));
  assert.deepEqual(
    [who.user.email, who.user.name, who.account.id, who.permissions, who.has_password],
    [email, "Asha", account.account_id, ["crm.read"], true],
  );
  assert.equal((await signIn(email)).status, 200);
  assert.deepEqual([(await accept(link)).status, (await preview(link)).status], [401, 401], "used");
  const { body: list } = await api.send("GET", "/api/v1/invitations", { token: account.token });
  assert.deepEqual(list.data, []);
  assert.equal((await auditOf("invitation.created"))[0].subject_id, String(body.id));
  const [entry] = await auditOf("invitation.accepted");
  assert.deepEqual([entry.user_id, entry.detail.user_id], [who.user.id, who.user.id]);
  assert.ok(entry.address && !JSON.stringify(entry.detail).includes("@"));
});

test("an invitation is not accepted after three days, its revocation or a newer one", async () => {
  const email = newEmail();
  const first = linkOf((await invite({ email })).body.path);
  const second = await invite({ email });
  assert.deepEqual([(await accept(first)).status, (await preview(first)).status], [401, 401]);
  api.clock.advance(73 * hour_ms);
  assert.equal((await accept(linkOf(second.body.path))).status, 401, "expired");
  const list = async () =>
    (await api.send("GET", "/api/v1/invitations", { token: account.token })).body.data;
  assert.deepEqual(
    (await list()).map(({ id }: { id: number }) => id),
    [second.body.id],
  );
  const third = await invite({ email });
  const revoke = () =>
    api.send("DELETE", `/api/v1/invitations/${third.body.id}`, { token: account.token });
  assert.deepEqual([(await revoke()).status, (await revoke()).status], [204, 404]);
  assert.equal((await accept(linkOf(third.body.path))).status, 401, "revoked");
  assert.deepEqual(await list(), []);
  assert.equal((await auditOf("invitation.revoked")).length, 1);
});

test("two uses of one invitation at once create one user", async () => {
  const email = newEmail();
  const link = linkOf((await invite({ email })).body.path);
  const answers = await Promise.all([accept(link), accept(link), accept(link)]);
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 401, 401],
  );
});

test("no user invites, replaces or revokes with more permissions than their own", async () => {
  const manager = await makeAgentToken(api.app, account, ["users.manage", "crm.read"]);
  const strong = await makeRole(["credits.read"]);
  assert.equal((await invite({ email: newEmail(), role_id: strong }, manager)).status, 403);
  const email = newEmail();
  const { body } = await invite({ email, role_id: strong });
  assert.equal((await invite({ email }, manager)).status, 403, "replaces");
  const path = `/api/v1/invitations/${body.id}`;
  assert.equal((await api.send("DELETE", path, { token: manager })).status, 403);
  const reader = await makeAgentToken(api.app, account, ["users.read"]);
  assert.equal((await invite({ email: newEmail() }, reader)).status, 403);
  const other = await makeAccount(api.app);
  assert.equal((await api.send("DELETE", path, { token: other.token })).status, 404);
  assert.equal((await accept(linkOf(body.path))).status, 200);
});

test("an invitation ends when its inviter is deactivated or may no longer grant its role", async () => {
  const role_id = await makeRole(["users.manage", "crm.read"]);
  const inviter = newEmail();
  const joined = await accept(linkOf((await invite({ email: inviter, role_id })).body.path));
  const cookie = cookieOf(joined);
  const { id } = (await me(cookie)).body.user;
  const given = await makeRole(["crm.read"]);
  const inviteAs = async () => {
    const json = { email: newEmail(), role_id: given };
    return linkOf(
      (await api.send("POST", "/api/v1/invitations", { headers: { ...headers, cookie }, json }))
        .body.path,
    );
  };
  const change = (path: string, json: object) =>
    api.send("PATCH", `/api/v1/${path}`, { token: account.token, json });
  const links = [await inviteAs(), await inviteAs(), await inviteAs()];
  await change(`roles/${given}`, { permissions: ["crm.read", "credits.read"] });
  assert.equal((await accept(links[0]!)).status, 401, "the role is stronger now");
  await change(`roles/${given}`, { permissions: ["crm.read"] });
  assert.equal((await accept(links[0]!)).status, 200);
  await change(`roles/${role_id}`, { permissions: ["crm.read"] });
  assert.equal((await accept(links[1]!)).status, 401, "may not invite any more");
  await change(`roles/${role_id}`, { permissions: ["users.manage", "crm.read"] });
  await change(`users/${id}`, { active: false });
  assert.equal((await accept(links[2]!)).status, 401, "deactivated");
});

test("an invitation ends when the token that sent it is revoked or rotated, and not when its inviter signs out", async () => {
  const makeIntegration = async () => {
    const json = { kind: "account", name: "integration", scopes: ["users.manage"] };
    const { body } = await api.send("POST", "/api/v1/tokens", { token: account.token, json });
    const invited = await invite({ email: newEmail() }, body.token);
    return { id: body.id as number, link: linkOf(invited.body.path) };
  };
  const end = (id: number, how: string) =>
    api.send("POST", `/api/v1/tokens/${id}/${how}`, { token: account.token, json: {} });
  const [revoked, rotated, kept] = [
    await makeIntegration(),
    await makeIntegration(),
    await makeIntegration(),
  ];
  await end(revoked.id, "revoke");
  await end(rotated.id, "rotate");
  for (const { link } of [revoked, rotated])
    assert.deepEqual([(await accept(link)).status, (await preview(link)).status], [401, 401]);
  assert.equal((await accept(kept.link)).status, 200);
  const role_id = await makeRole(["users.manage"]);
  const joined = await accept(linkOf((await invite({ email: newEmail(), role_id })).body.path));
  const as_inviter = { headers: { ...headers, cookie: cookieOf(joined) } };
  const sent = await api.send("POST", "/api/v1/invitations", {
    ...as_inviter,
    json: { email: newEmail() },
  });
  await api.send("DELETE", "/api/v1/session", as_inviter);
  assert.equal((await accept(linkOf(sent.body.path))).status, 200, "signed out");
});

test("an invitation names every violation, and its role cannot be deleted meanwhile", async () => {
  const taken = newEmail();
  const json = { name: "Ravi", email: taken };
  await api.send("POST", "/api/v1/users", { token: account.token, json });
  const refused = await invite({ email: taken, role_id: 999_999 });
  assert.deepEqual(
    refused.body.errors.map(({ field }: { field: string }) => field),
    ["email", "role_id"],
  );
  const role_id = await makeRole([]);
  const { body } = await invite({ email: newEmail(), role_id });
  const remove = () => api.send("DELETE", `/api/v1/roles/${role_id}`, { token: account.token });
  assert.equal((await remove()).status, 409);
  const short = await accept(linkOf(body.path), { name: " ", password: "short" });
  assert.deepEqual(short.body.errors.map(({ field }: { field: string }) => field).toSorted(), [
    "name",
    "password",
  ]);
  await api.send("DELETE", `/api/v1/invitations/${body.id}`, { token: account.token });
  assert.equal((await remove()).status, 204);
});

test("a role is deleted with its expired invitations, also while other roles have open ones", async () => {
  const [role_id, other] = [await makeRole([]), await makeRole([])];
  await invite({ email: newEmail(), role_id });
  api.clock.advance(73 * hour_ms);
  await invite({ email: newEmail(), role_id: other });
  const remove = (id: number) =>
    api.send("DELETE", `/api/v1/roles/${id}`, { token: account.token });
  assert.equal((await remove(role_id)).status, 204);
  assert.equal((await remove(other)).status, 409);
  const { body } = await api.send("GET", "/api/v1/invitations", { token: account.token });
  const roles = body.data.map((invitation: { role_id: number }) => invitation.role_id);
  assert.deepEqual(roles, [other]);
});

test("an account has 1,000 open invitations at most: expired ones do not count, and an address that is invited again counts once", async () => {
  const of = await makeAccount(api.app);
  const make = (count: number, expires_at: Date) =>
    api.app.db.pool.query(
      `insert into invitations (account_id, email, secret_sha256, expires_at, created_at)
       select $1, 'n' || n || '.' || $4 || '@test.example', '', $3, $3 from generate_series(1, $2::int) n`,
      [of.account_id, count, expires_at, unique("i")],
    );
  const at = (hours: number) => new Date(api.clock.now().getTime() + hours * hour_ms);
  await make(1_000, at(-1));
  await make(999, at(1));
  const email = newEmail();
  assert.equal((await invite({ email }, of.token)).status, 201);
  assert.equal((await invite({ email: newEmail() }, of.token)).status, 409);
  assert.equal((await invite({ email }, of.token)).status, 201, "replaced");
  const { rows } = await api.app.db.pool.query(
    "select email from invitations where account_id = $1 and expires_at <= $2 limit 1",
    [of.account_id, api.clock.now()],
  );
  assert.equal((await invite({ email: rows[0].email }, of.token)).status, 409, "expired before");
});

test("a repeated request with the same key invites once, and shows no link", async () => {
  const email = newEmail();
  const options = { headers: { "idempotency-key": unique("key") } };
  const first = await invite({ email }, account.token, options);
  const again = await invite({ email }, account.token, options);
  assert.deepEqual([again.body.id, again.body.path], [first.body.id, null]);
  assert.equal(mailsTo(email).length, 1);
});

test("a mail that the server does not take is reported, and the link works", async (t) => {
  smtp.refuse(true);
  t.after(() => smtp.refuse(false));
  const { status, body } = await invite({ email: newEmail() });
  assert.deepEqual([status, body.emailed], [201, false]);
  assert.equal((await accept(linkOf(body.path))).status, 200);
});

test("one mailbox gets five invitations in a quarter of an hour at most, and further ones are created without a mail", async () => {
  const email = newEmail();
  const other = await makeAccount(api.app);
  for (let n = 0; n < 5; n++) assert.equal((await invite({ email }, other.token)).status, 201);
  const { status, body } = await invite({ email });
  assert.deepEqual([status, body.emailed], [201, false]);
  assert.equal(mailsTo(email).length, 5);
  assert.equal((await accept(linkOf(body.path))).status, 200);
});

test("an account invites 200 times in a quarter of an hour at most", async () => {
  const subject = `invitations of ${account.account_id}`;
  const row = { subject, count: 199, began_at: api.clock.now() };
  await api.app.db.query.insertInto("sign_in_failures").values(row).execute();
  assert.equal((await invite({ email: newEmail() })).status, 201);
  const email = newEmail();
  const refused = await invite({ email });
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  assert.equal(mailsTo(email).length, 0);
});

/** Creates a user with a password; returns the address and the cookie of a session. */
async function makeSignedIn(of = account, email = newEmail()) {
  const answer = await accept(linkOf((await invite({ email }, of.token)).body.path));
  return { email, cookie: cookieOf(answer) };
}

const requestReset = (email: string, more: Record<string, string> = headers) =>
  api.send("POST", "/api/v1/session/password-reset", { headers: more, json: { email } });
const resetMails = (email: string) => mailsTo(email).filter(({ text }) => text.includes("/reset#"));

test("a mailed link sets a new password, once, and ends the user's sessions and other links", async () => {
  const { email, cookie } = await makeSignedIn();
  assert.equal((await me(cookie)).status, 200, "cached");
  assert.equal((await requestReset(email.toUpperCase())).status, 202);
  assert.equal((await requestReset(email)).status, 202);
  await eventually(() => resetMails(email).length === 2);
  const [link, other] = resetMails(email).map(({ text }) => linkOf(text));
  const reset = await browse("/api/v1/session/link", { link, password: "a brand new password" });
  assert.equal(reset.status, 200);
  await eventually(async () => (await me(cookie)).status === 401);
  assert.equal((await signIn(email)).status, 401, "the former password");
  assert.equal((await signIn(email, "a brand new password")).status, 200);
  for (const used of [link, other])
    assert.equal((await browse("/api/v1/session/link", { link: used, password })).status, 401);
  assert.equal((await auditOf("password_reset.requested")).length, 2);
  assert.equal((await auditOf("password.changed")).length, 1);
});

test("ten accounts that create a user of the address keep no person with a password from a mailed link, nor the account that is named", async () => {
  const email = newEmail();
  const others = await Promise.all(Array.from({ length: 10 }, () => makeAccount(api.app)));
  for (const { token } of others) {
    const made = await api.send("POST", "/api/v1/users", { token, json: { name: "Trap", email } });
    assert.equal(made.status, 201, made.text);
  }
  const own = await makeAccount(api.app);
  await makeSignedIn(own, email);
  assert.equal((await requestReset(email)).status, 202);
  await eventually(() => resetMails(email).length === 1);
  const linksIn = (text: string) =>
    [...text.matchAll(/reset#([0-9]+)_/g)].map(([, id]) => Number(id));
  const links = linksIn(resetMails(email)[0]!.text);
  assert.deepEqual([links.length, links[0]], [10, own.account_id]);
  const account_id = Math.max(...others.map((other) => other.account_id));
  const named = await api.send("POST", "/api/v1/session/password-reset", {
    headers,
    json: { email, account_id },
  });
  assert.equal(named.status, 202, named.text);
  await eventually(() => resetMails(email).length === 2);
  const { text } = resetMails(email)[1]!;
  assert.deepEqual(linksIn(text), [account_id]);
  assert.ok(text.includes(`(account ${account_id}):`), text);
});

test("a mailed link expires after an hour, and ends with a new password or address", async () => {
  const { email, cookie } = await makeSignedIn();
  const { id } = (await me(cookie)).body.user;
  const linkFor = async (address: string, mails: number) => {
    await requestReset(address);
    await eventually(() => resetMails(address).length === mails);
    return linkOf(resetMails(address).at(-1)!.text);
  };
  const isRefused = async (link: string) =>
    (await browse("/api/v1/session/link", { link, password })).status === 401;
  const late = await linkFor(email, 1);
  api.clock.advance(hour_ms + 1_000);
  assert.ok(await isRefused(late));
  const before_change = await linkFor(email, 2);
  await api.send("PUT", "/api/v1/me/password", {
    headers: { ...headers, cookie },
    json: { current_password: password, password: "yet another password" },
  });
  assert.ok(await isRefused(before_change));
  const before_move = await linkFor(email, 3);
  const json = { email: newEmail() };
  await api.send("PATCH", `/api/v1/users/${id}`, { token: account.token, json });
  assert.ok(await isRefused(before_move));
});

test("an address that is replaced while a link is requested gets no link of its former user, but those of others", async () => {
  const { email, cookie } = await makeSignedIn();
  const other = await makeAccount(api.app);
  await makeSignedIn(other, email);
  const { id } = (await me(cookie)).body.user;
  const { account_id } = account;
  await api.app.db.query.transaction().execute(async (tx) => {
    const operator = operatorOf(account_id, "test");
    await updateUser(tx, operator, id, { email: newEmail() }, api.clock.now());
    assert.equal((await requestReset(email)).status, 202);
    await awaitsLock(api.app.db.query);
  });
  await eventually(() => resetMails(email).length === 1);
  const { text } = resetMails(email)[0]!;
  assert.deepEqual(
    [text.includes(`(account ${account_id}):`), text.includes(`(account ${other.account_id}):`)],
    [false, true],
  );
  const links = api.app.db.query.selectFrom("sign_in_links").select("id");
  assert.deepEqual(await links.where("account_id", "=", account_id).execute(), []);
  assert.equal((await auditOf("password_reset.requested")).length, 0);
});

test("a person of several accounts gets one mail with a link for each", async () => {
  const email = newEmail();
  await makeSignedIn(account, email);
  await makeSignedIn(await makeAccount(api.app), email);
  await requestReset(email);
  await eventually(() => resetMails(email).length === 1);
  assert.equal(resetMails(email)[0]!.text.match(/\/sign-in\/reset#/g)!.length, 2);
});

test("a reset answers alike for unknown and inactive users, mails only the others, and is throttled alike", async () => {
  const { email: known } = await makeSignedIn();
  const { email: inactive, cookie } = await makeSignedIn();
  const { id } = (await me(cookie)).body.user;
  await api.send("PATCH", `/api/v1/users/${id}`, { token: account.token, json: { active: false } });
  const statuses = async (email: string) => {
    await api.app.db.pool.query("delete from sign_in_failures");
    const answers = [];
    for (let n = 0; n < 4; n++) {
      const { status, text } = await requestReset(email);
      answers.push(status === 429 ? status : [status, text]);
    }
    return answers;
  };
  const expected = [[202, "{}"], [202, "{}"], [202, "{}"], 429];
  const unknown = newEmail();
  assert.deepEqual(await statuses(inactive), expected);
  assert.deepEqual(await statuses(unknown), expected);
  assert.deepEqual(await statuses(known), expected);
  await eventually(() => resetMails(known).length === 3);
  assert.deepEqual([resetMails(inactive), resetMails(unknown)], [[], []]);
  assert.equal((await requestReset(known, {})).status, 403, "from another site");
});

test("without a mail server a reset says who can help, and the sign-in page does not offer it", async () => {
  const options = async (of: TestApi) =>
    (await of.send("GET", "/api/v1/session/options")).body.password_reset_by_mail;
  assert.equal(await options(api), true);
  const without = await startApi({ databaseUrl: api.database_url });
  try {
    assert.equal(await options(without), false);
    const refused = await without.send("POST", "/api/v1/session/password-reset", {
      headers,
      json: { email: newEmail() },
    });
    assert.deepEqual([refused.status, refused.body.type], [409, "conflict"]);
    const json = { email: newEmail() };
    const made = await without.send("POST", "/api/v1/invitations", { token: account.token, json });
    assert.deepEqual([made.status, made.body.emailed], [201, false]);
  } finally {
    await without.close();
  }
});

test("an account's name stays one short quoted line in the mails of the installation", async () => {
  const name = `Acme".\n\nYour access was locked.\r\nConfirm at https://evil.example ${"x".repeat(150)}`;
  await api.send("PATCH", "/api/v1/account", { token: account.token, json: { name } });
  const email = newEmail();
  assert.equal((await invite({ email })).status, 201);
  const [mail] = mailsTo(email);
  assert.match(
    mail!.text,
    /\n\nYou are invited to join "Acme \. Your access was locked\. [^"\n]{1,50}" on Trunkline\. To/,
  );
});
