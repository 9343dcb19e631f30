import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import pg from "pg";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  type TestChatNumber,
} from "../../../test/support/chat-factory.ts";
import {
  app_secret,
  signatureOf,
  statusHook,
  verify_token,
} from "../../../test/support/chat-webhooks.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openMetaAccess, type MetaAccess } from "../../drivers/chat/meta/open-meta-driver.ts";
import { findClosedSecrets } from "../../lib/secrets/stored-secrets.ts";
import { default_settings } from "../../worker.ts";
import { openSenders } from "../sender/open-senders.ts";
import { openWebhookGuards } from "./webhook-guards.ts";

/** A provider that records which token asked for what. */
const asked: { token: string; path: string }[] = [];
const meta: Server = createServer((request, response) => {
  const token = request.headers.authorization!.replace("Bearer ", "");
  asked.push({ token, path: request.url! });
  request.resume().on("end", () => {
    const body = { messages: [{ id: `wamid.${asked.length}` }], data: [], id: "1" };
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
});
let api: TestApi;
let access: MetaAccess;
let operator: TestAccount;

before(async () => {
  await once(meta.listen(0, "127.0.0.1"), "listening");
  const api_url = `http://127.0.0.1:${(meta.address() as AddressInfo).port}/v23.0`;
  access = openMetaAccess({ api_url });
  const whatsapp = {
    ...access.driverWith("installation-token"),
    ...access.guardWith({ app_secret, verify_token }),
  };
  api = await startApi({ chatDrivers: { whatsapp, whatsappAccess: access } });
  operator = await makeAccount(api.app);
});
after(async () => {
  await api.close();
  await access.close();
  meta.close();
});

const path = "/api/v1/whatsapp-credentials";
const set = (account: TestAccount, json: object, by = operator) =>
  api.send("PUT", `${path}/${account.account_id}`, { token: by.token, json });

type Tenant = { account: TestAccount; number: TestChatNumber };

async function newTenant(): Promise<Tenant> {
  const account = await makeAccount(api.app, { features: ["bulk_chat"] });
  await makeCredits(api.app, account, { chat: 10 });
  return { account, number: await makeChatNumber(api.app, account, { driver: "whatsapp" }) };
}

async function sendOne({ account, number }: Tenant): Promise<void> {
  const template_id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  await makeChatCampaign(api.app, account, number, template_id, [{ phone: "919876543210" }]);
}

/** The tokens that asked for anything of the number or its business account. */
const tokensOf = ({ number }: Tenant) =>
  new Set(
    asked
      .filter(
        ({ path: at }) =>
          at.includes(`/${number.provider_phone_number_id}`) ||
          at.includes(`/${number.business_account_id}`),
      )
      .map(({ token }) => token),
  );

test("each account sends and syncs with its own token, and the others with the installation's", async () => {
  const [one, two, rest] = [await newTenant(), await newTenant(), await newTenant()];
  const tokens = [unique("token-one"), unique("token-two")];
  assert.equal((await set(one.account, { access_token: tokens[0] })).status, 200);
  assert.equal((await set(two.account, { access_token: tokens[1] })).status, 200);
  const senders = openSenders(api.app, default_settings);
  try {
    for (const tenant of [one, two, rest]) {
      const { account, number } = tenant;
      const synced = await api.send("POST", "/api/v1/chat/templates/sync", {
        token: account.token,
        json: { chat_number_id: number.id },
      });
      assert.equal(synced.status, 200, synced.text);
      await sendOne(tenant);
    }
    await eventually(async () => {
      await senders.startDue();
      return [one, two, rest].every(({ number }) =>
        asked.some(({ path: at }) => at.endsWith(`/${number.provider_phone_number_id}/messages`)),
      );
    });
  } finally {
    await senders.stop();
  }
  assert.deepEqual([...tokensOf(one)], [tokens[0]]);
  assert.deepEqual([...tokensOf(two)], [tokens[1]]);
  assert.deepEqual([...tokensOf(rest)], ["installation-token"]);
});

test("an account with a token of its own sends in a process without the installation's", async () => {
  const bare = await startApi({
    databaseUrl: api.database_url,
    chatDrivers: { whatsappAccess: access },
  });
  const senders = openSenders(bare.app, default_settings);
  try {
    const [own, none] = [await newTenant(), await newTenant()];
    const token = unique("token");
    await set(own.account, { access_token: token });
    await sendOne(none);
    await sendOne(own);
    await eventually(async () => {
      await senders.startDue();
      return tokensOf(own).has(token);
    });
    assert.equal(tokensOf(none).size, 0);
  } finally {
    await senders.stop();
    await bare.close();
  }
});

test("webhooks of an account's own Meta app are checked with its secret and reach that account only", async () => {
  const [own, other] = [await newTenant(), await newTenant()];
  const secret = unique("secret");
  const verify = unique("verify");
  const credential = { access_token: "t", app_secret: secret, verify_token: verify };
  assert.equal((await set(own.account, credential)).body.own_app, true);
  const hook = `/hooks/whatsapp/${own.account.account_id}`;
  const stored = async ({ account }: Tenant) =>
    (
      await api.app.db.query
        .selectFrom("chat_inbox")
        .select("chat_number_id")
        .where("account_id", "=", account.account_id)
        .execute()
    ).length;
  const post = (url: string, raw: string, key: string) =>
    api.send("POST", url, {
      raw,
      headers: {
        "content-type": "application/json",
        "x-hub-signature-256": signatureOf(raw, key),
      },
    });
  const mine = statusHook(own.number, [{ id: "wamid.1", status: "sent" }]);
  assert.equal((await post(hook, mine, app_secret)).status, 401);
  assert.equal((await post("/hooks/whatsapp", mine, secret)).status, 401);
  assert.equal(await stored(own), 0);
  assert.equal((await post(hook, mine, secret)).status, 200);
  assert.equal(await stored(own), 1);
  const theirs = statusHook(other.number, [{ id: "wamid.2", status: "sent" }]);
  assert.equal((await post(hook, theirs, secret)).status, 200);
  assert.equal(await stored(other), 0);
  assert.equal((await post("/hooks/whatsapp", theirs, app_secret)).status, 200);
  assert.equal(await stored(other), 1);
  const nowhere = `/hooks/whatsapp/${other.account.account_id}`;
  assert.equal((await post(nowhere, theirs, app_secret)).status, 401);
  assert.equal((await post("/hooks/whatsapp/x", theirs, app_secret)).status, 404);
  const subscribe = (url: string, token: string) =>
    api.send("GET", `${url}?hub.mode=subscribe&hub.challenge=7&hub.verify_token=${token}`);
  assert.equal((await subscribe(hook, verify)).text, "7");
  assert.equal((await subscribe(hook, verify_token)).status, 403);
  assert.equal((await subscribe(nowhere, verify)).status, 403);
});

test("a stranger does not learn which accounts have a Meta app of their own", async () => {
  const [own, none] = [await newTenant(), await newTenant()];
  await set(own.account, { access_token: "t", app_secret: "s", verify_token: "v" });
  const answersFor = async (account_id: number) => {
    const hook = `/hooks/whatsapp/${account_id}`;
    const headers = { "x-hub-signature-256": signatureOf("{}", "guessed") };
    const answers = [
      await api.send("GET", hook),
      await api.send("GET", `${hook}?hub.mode=subscribe&hub.challenge=7&hub.verify_token=guessed`),
      await api.send("POST", hook, { raw: "{}", headers: { "content-type": "text/plain" } }),
      await api.send("POST", hook, { json: {} }),
      await api.send("POST", hook, { json: {}, headers }),
    ];
    return answers.map(({ status, body }) => [status, { ...body, request_id: "" }]);
  };
  const expected = await answersFor(own.account.account_id);
  assert.deepEqual(
    expected.map(([status]) => status),
    [403, 403, 415, 401, 401],
  );
  for (const account_id of [none.account.account_id, 999_999_999])
    assert.deepEqual(await answersFor(account_id), expected);
});

test("requests for the webhooks of unknown accounts use two connections, one for each address, and delay no known account", async (t) => {
  const own = await newTenant();
  const { account_id } = own.account;
  await set(own.account, { access_token: "t", app_secret: "s", verify_token: "v" });
  const guards = openWebhookGuards(api.app);
  assert.ok(await guards.find(account_id, () => "192.0.2.1"));
  const outdated_ms = performance.now() + 5_000;
  t.mock.method(performance, "now", () => outdated_ms);
  const locker = new pg.Client({ connectionString: api.database_url });
  await locker.connect();
  const waiting = async () => {
    const { rows } = await locker.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_locks
       where not granted and relation = 'whatsapp_credentials'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
    );
    return rows[0]!.waiting;
  };
  const { pool } = api.app.db;
  const inUse = () => pool.totalCount - pool.idleCount + pool.waitingCount;
  try {
    await locker.query("begin; lock table whatsapp_credentials in access exclusive mode");
    const from = (address: string) =>
      Array.from({ length: 50 }, (_, n) => guards.find(account_id + 1_000_000 + n, () => address));
    const flood = from("198.51.100.7");
    await eventually(async () => (await waiting()) >= 1);
    assert.equal(inUse(), 1);
    flood.push(...["203.0.113.9", "203.0.113.10"].flatMap(from));
    await eventually(async () => (await waiting()) >= 2);
    assert.equal(inUse(), 2);
    const known = guards.find(account_id, () => "198.51.100.7");
    await eventually(async () => (await waiting()) === 3);
    await locker.query("commit");
    assert.ok(await known);
    assert.ok((await Promise.all(flood)).every((guard) => guard === null));
  } finally {
    await locker.end();
  }
});

test("only operators set a credential, its secrets are sealed and never shown, and two trails record it", async () => {
  const { account } = await newTenant();
  const credential = {
    access_token: unique("hidden-token"),
    app_secret: unique("hidden-secret"),
    verify_token: unique("hidden-verify"),
  };
  assert.equal((await set(account, credential, account)).status, 403);
  const done = await set(account, credential);
  assert.equal(done.status, 200, done.text);
  const list = await api.send("GET", `${path}?limit=200`, { token: operator.token });
  const { rows } = await api.app.db.pool.query<{ text: string }>(
    "select w::text as text from whatsapp_credentials w",
  );
  const shown = [done.text, list.text, ...rows.map(({ text }) => text)].join("\n");
  for (const hidden of Object.values(credential)) assert.ok(!shown.includes(hidden));
  assert.deepEqual(await findClosedSecrets(api.app.db, api.app.secrets), []);
  for (const [json, fields] of [
    [{}, ["access_token"]],
    [{ access_token: "two words" }, ["access_token"]],
    [{ access_token: "t", app_secret: "s" }, ["verify_token"]],
    [{ access_token: "t", verify_token: "v" }, ["app_secret"]],
  ] as const)
    assert.deepEqual(failingFields(await set(account, json)), fields);
  assert.equal((await set({ ...account, account_id: 999_999_999 }, credential)).status, 404);
  const remove = (by: TestAccount, id = account.account_id) =>
    api.send("DELETE", `${path}/${id}`, { token: by.token });
  assert.equal((await remove(account)).status, 403);
  assert.equal((await remove(operator)).status, 204);
  assert.equal((await remove(operator)).status, 204);
  assert.equal((await remove(operator, 999_999_999)).status, 404);
  for (const by of [operator, account]) {
    const trail = await api.send("GET", "/api/v1/audit?limit=200", { token: by.token });
    const actions = trail.body.data
      .filter((entry: { subject_id: string }) => entry.subject_id === String(account.account_id))
      .map(({ action }: { action: string }) => action)
      .filter((action: string) => action.startsWith("whatsapp_credential."));
    assert.deepEqual(actions, ["whatsapp_credential.deleted", "whatsapp_credential.set"]);
  }
});
