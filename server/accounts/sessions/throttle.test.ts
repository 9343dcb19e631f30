import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { Refusal, type RefusalType } from "../../lib/errors.ts";
import { acceptInvitation, openInvitation } from "../invitations/accept-invitation.ts";
import { useSignInLink } from "./sign-in-links.ts";
import { signIn } from "./sign-in.ts";

let api: TestApi;
let proxied: TestApi;
let account: TestAccount;
before(async () => {
  api = await startApi();
  // The tests' requests come from there.
  proxied = await startApi({ databaseUrl: api.database_url, trusted_proxies: ["127.0.0.0/8"] });
  account = await makeAccount(api.app);
});
after(async () => {
  await proxied.close();
  await api.close();
});

const password = "correct horse battery";
const clientAt = (address: string) => ({ request_id: "req_test", address, user_agent: null });
const flooding = clientAt("198.51.100.7");
/** One that runs and a full queue. */
const flood_attempts = 101;

const signInFrom = (address: string, email = `${unique("person")}@test.example`, text = password) =>
  signIn(api.app, { email, password: text }, clientAt(address));
const isRefusal = (type: RefusalType) => (error: unknown) =>
  error instanceof Refusal && error.type === type;

/**
 * Locks by `lock`, starts attempts that wait for it, and runs `work` when every connection in use waits. Fails if an
 * attempt ends before `work` does.
 */
async function whileBlocked(
  lock: (locker: pg.Client) => Promise<unknown>,
  attempt: () => Promise<unknown>,
  work: () => Promise<void>,
): Promise<void> {
  const { pool } = api.app.db;
  const locker = new pg.Client({ connectionString: api.database_url });
  await locker.connect();
  const flood: Promise<void>[] = [];
  try {
    await locker.query("begin");
    await lock(locker);
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    const end = () => resolve("an attempt ended");
    for (let i = 0; i < flood_attempts; i++) flood.push(attempt().then(end, end));
    await eventually(async () => {
      // In a transaction, the view shows what it showed first.
      await locker.query("select pg_stat_clear_snapshot()");
      const { rows } = await locker.query<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
      );
      const { waiting } = rows[0]!;
      return waiting > 0 && waiting === pool.totalCount - pool.idleCount;
    });
    assert.equal(await Promise.race([work().then(() => "answered"), ended]), "answered");
  } finally {
    await locker.query("commit");
    await Promise.all(flood);
    await locker.end();
  }
}

async function readAccount(): Promise<void> {
  const { status } = await api.send("GET", "/api/v1/account", { token: account.token });
  assert.equal(status, 200);
}

/** Creates the row of the address with all its failures, so that no attempt of the flood costs a hash. */
const lockAddress = (locker: pg.Client) =>
  locker.query("insert into sign_in_failures (subject, began_at, count) values ($1, $2, 100)", [
    `address ${flooding.address}`,
    api.clock.now(),
  ]);

test("sign-ins of one address that wait for a locked row delay no other request and no other address, and are 503 beyond a bounded queue", async () => {
  const attempt = () => signInFrom(flooding.address);
  await whileBlocked(lockAddress, attempt, async () => {
    await readAccount();
    await assert.rejects(signInFrom("203.0.113.9"), isRefusal("unauthorized"));
    await assert.rejects(attempt(), isRefusal("unavailable"));
  });
  await assert.rejects(attempt(), isRefusal("rate-limited"));
});

test("look-ups of links that wait for a lock delay no request of an account", async () => {
  const link = `1000000_1_${"0".repeat(64)}`;
  const locking = (table: string) => (locker: pg.Client) =>
    locker.query(`lock table ${table} in access exclusive mode`);
  const useLink = () => useSignInLink(api.app, { link, password, code: null }, flooding);
  const accept = () => acceptInvitation(api.app, { link, name: "Asha", password }, flooding);
  const preview = () =>
    openInvitation(api.app.db.query, { link, address: flooding.address }, api.clock.now());
  await whileBlocked(locking("sign_in_links"), useLink, readAccount);
  await whileBlocked(locking("invitations"), accept, readAccount);
  await whileBlocked(locking("invitations"), preview, readAccount);
});

/** Creates a user with the password; returns the email address. */
async function makePerson(): Promise<string> {
  const { token } = account;
  const json = { name: "Asha", email: `${unique("person")}@test.example` };
  const user = await api.send("POST", "/api/v1/users", { token, json });
  const created = await api.send("POST", `/api/v1/users/${user.body.id}/sign-in-link`, { token });
  const link = created.body.path.split("#")[1];
  await useSignInLink(api.app, { link, password, code: null }, clientAt("127.0.0.1"));
  return json.email;
}

test("failures from all addresses of an IPv6 /64 count together, and those of another /64 do not", async () => {
  const email = await makePerson();
  for (let guess = 1; guess <= 10; guess++)
    await assert.rejects(
      signInFrom(`2001:db8:0:1::${guess}`, email, `guess ${guess}`),
      isRefusal("unauthorized"),
    );
  await assert.rejects(signInFrom("2001:db8:0:1:ffff::", email), isRefusal("rate-limited"));
  const { cookie } = await signInFrom("2001:db8:0:2::1", email);
  assert.match(cookie!, /^trk_/);
});

test("refused sign-ins from one address do not lock the person out at another", async () => {
  const email = await makePerson();
  for (let guess = 1; guess <= 110; guess++)
    await assert.rejects(
      signInFrom("203.0.113.20", email, `guess ${guess}`),
      isRefusal(guess > 10 ? "rate-limited" : "unauthorized"),
    );
  const { cookie } = await signInFrom("203.0.113.21", email);
  assert.match(cookie!, /^trk_/);
});

const forwardTo = (to: TestApi, forwarded: string, json: object) =>
  to.send("POST", "/api/v1/session", {
    json,
    headers: { "sec-fetch-site": "same-origin", "x-forwarded-for": forwarded },
  });

test("behind a trusted proxy, failed sign-ins count for the address that the proxy adds", async () => {
  const email = await makePerson();
  for (let guess = 1; guess <= 10; guess++) {
    const json = { email, password: `guess ${guess}` };
    const { status } = await forwardTo(proxied, `203.0.113.${100 + guess}, 203.0.113.30`, json);
    assert.equal(status, 401);
  }
  const json = { email, password };
  assert.equal((await forwardTo(proxied, "203.0.113.30", json)).status, 429);
  const { status, headers } = await forwardTo(proxied, "203.0.113.31", json);
  assert.equal(status, 200);
  const cookie = headers.get("set-cookie")!.split(";")[0]!;
  const { body } = await proxied.send("GET", "/api/v1/sessions", { headers: { cookie } });
  assert.equal(body.data[0].address, "203.0.113.31");
});

test("the X-Forwarded-For of any other client is ignored", async () => {
  const email = await makePerson();
  for (let guess = 1; guess <= 10; guess++) {
    const json = { email, password: `guess ${guess}` };
    assert.equal((await forwardTo(api, `203.0.113.${100 + guess}`, json)).status, 401);
  }
  assert.equal((await forwardTo(api, "203.0.113.120", { email, password })).status, 429);
});

/** Returns the counts whose subject contains the text. */
async function countsOf(text: string): Promise<Record<string, number>> {
  const rows = await api.app.db.query
    .selectFrom("sign_in_failures")
    .select(["subject", "count"])
    .where("subject", "like", `%${text}%`)
    .orderBy("subject")
    .execute();
  return Object.fromEntries(rows.map(({ subject, count }) => [subject, count]));
}

const saveCounts = (counts: Record<string, number>, began_at = api.clock.now()) =>
  api.app.db.query
    .insertInto("sign_in_failures")
    .values(Object.entries(counts).map(([subject, count]) => ({ subject, count, began_at })))
    .execute();

test("a sign-in from an address, or for an email address, that has reached its limit adds no row", async () => {
  const [address, email] = ["203.0.113.40", `${unique("person")}@test.example`];
  const full = { [`address ${address}`]: 100, [`email ${email}`]: 100 };
  await saveCounts(full);
  await assert.rejects(signInFrom(address), isRefusal("rate-limited"));
  await assert.rejects(signInFrom("203.0.113.41", email), isRefusal("rate-limited"));
  assert.deepEqual(
    { ...(await countsOf(address)), ...(await countsOf(email)), ...(await countsOf("113.41")) },
    full,
  );
  api.clock.advance(15 * 60_000);
  await assert.rejects(signInFrom(address, email), isRefusal("unauthorized"));
  assert.deepEqual(await countsOf(email), {
    [`email ${email}`]: 1,
    [`${email} from ${address}`]: 1,
  });
});

test("expired counts are deleted by the first sign-in of a minute, not by each", async () => {
  const name = unique("expired");
  const hour_ago = new Date(api.clock.now().getTime() - 3_600_000);
  const remaining = async (address: string) => {
    await saveCounts({ [`${name} ${address}`]: 1 }, hour_ago);
    await assert.rejects(signInFrom(address), isRefusal("unauthorized"));
    return Object.keys(await countsOf(name)).length;
  };
  api.clock.advance(60_000);
  assert.equal(await remaining("203.0.113.50"), 0);
  assert.equal(await remaining("203.0.113.51"), 1);
  api.clock.advance(60_000);
  assert.equal(await remaining("203.0.113.52"), 0);
});
