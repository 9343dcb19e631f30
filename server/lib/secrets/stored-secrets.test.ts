import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import {
  lasting_lease,
  makeEndpoint,
  makeEvents,
  relay,
} from "../../../test/support/callback-factory.ts";
import { openCallbackReceiver } from "../../../test/support/callback-receiver.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeNode } from "../../../test/support/telephony-factory.ts";
import { openDeliverers } from "../../callbacks/deliveries/open-deliverers.ts";
import { ensureCampaignEndpoint } from "../../callbacks/endpoints/ensure-campaign-endpoint.ts";
import { findVoiceNode } from "../../telephony/nodes/find-voice-node.ts";
import { openSecrets, SecretError } from "./secrets.ts";
import {
  countStoredSecrets,
  findClosedSecrets,
  requireKeys,
  sealStoredSecrets,
} from "./stored-secrets.ts";

/** The keys of the process; a test changes them as an operator does. */
let keys = [randomBytes(32)];
const secrets = openSecrets(() => keys);
let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi({ secrets });
  account = await makeAccount(api.app);
});
after(() => api.close());

const send = (method: string, path: string, json?: unknown) =>
  api.send(method, `/api/v1${path}`, {
    token: account.token,
    ...(json === undefined ? {} : { json }),
  });

async function newEndpoint(url = `http://127.0.0.1:1/${unique("endpoint")}`) {
  const { status, body, text } = await send("POST", "/callbacks/endpoints", { url });
  assert.equal(status, 201, text);
  return body as { id: number; secret: string };
}

const newNode = async (password: string) => {
  const ari = { url: "http://127.0.0.1:1/ari", user: "u", password, app: unique("app") };
  const node = { name: unique("node"), driver: "asterisk", calls_per_second: 1, calls_max: 1, ari };
  const { status, body, text } = await send("POST", "/voice-nodes", node);
  assert.equal(status, 201, text);
  return body.id as number;
};

const secretOf = async (id: number) =>
  (await send("GET", `/callbacks/endpoints/${id}/secret`)).body.secret as string;

/** Returns every row of every table as text, as a dump contains it. */
async function dump(): Promise<string> {
  const { pool } = api.app.db;
  const { rows } = await pool.query<{ name: string }>(
    "select quote_ident(tablename) as name from pg_tables where schemaname = 'public'",
  );
  const texts = await Promise.all(
    rows.map(({ name }) => pool.query<{ row: string }>(`select t::text as row from ${name} t`)),
  );
  return texts.flatMap((found) => found.rows.map(({ row }) => row)).join("\n");
}

test("a dump of the database contains no callback secret and no ARI password", async () => {
  const { id, secret } = await newEndpoint();
  const rotated = (await send("POST", `/callbacks/endpoints/${id}/rotate`)).body.secret;
  const url = `http://127.0.0.1:1/${unique("campaign")}`;
  await api.app.db.query
    .transaction()
    .execute((tx) => ensureCampaignEndpoint(tx, account.account_id, url, api.clock.now(), secrets));
  const { body: listed } = await send("GET", "/callbacks/endpoints?limit=200");
  const campaign = listed.data.find((one: { url: string }) => one.url === url);
  const created = unique("created-password");
  const changed = unique("changed-password");
  const node_id = await newNode(created);
  const first = await dump();
  const patched = await send("PATCH", `/voice-nodes/${node_id}`, { ari: { password: changed } });
  assert.equal(patched.status, 200, patched.text);
  assert.equal((await findVoiceNode(api.app, node_id)).ari?.password, changed);
  assert.equal(await secretOf(id), rotated);
  const text = first + (await dump());
  assert.ok(text.includes(String(account.account_id)));
  for (const hidden of [secret, rotated, await secretOf(campaign.id)] as string[]) {
    const plain = Buffer.from(hidden.replace("whsec_", ""), "base64");
    assert.equal(plain.length, 32);
    for (const form of ["base64", "hex", "base64url"] as const)
      assert.ok(!text.includes(plain.toString(form)), form);
  }
  for (const hidden of [created, changed]) {
    assert.ok(!text.includes(hidden));
    assert.ok(!text.includes(Buffer.from(hidden).toString("hex")));
  }
});

test("seals what an older version stored, once, also when several processes start", async () => {
  const endpoints = await Promise.all([1, 2, 3].map(() => makeEndpoint(api.app, account)));
  const node_id = await makeNode(api.app, { driver: "asterisk", ari_password: "older" });
  // Until then it is readable, because an older process may still write.
  assert.equal((await findVoiceNode(api.app, node_id)).ari?.password, "older");
  assert.equal((await findClosedSecrets(api.app.db, secrets)).length, 4);
  const counts = await Promise.all(
    [1, 2, 3].map(() =>
      sealStoredSecrets(
        api.app.db,
        openSecrets(() => keys),
      ),
    ),
  );
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    4,
  );
  assert.equal(await sealStoredSecrets(api.app.db, secrets), 0);
  assert.deepEqual(await findClosedSecrets(api.app.db, secrets), []);
  for (const { id, secret } of endpoints)
    assert.equal(await secretOf(id), `whsec_${secret.toString("base64")}`);
  assert.equal((await findVoiceNode(api.app, node_id)).ari?.password, "older");
  const text = await dump();
  for (const { secret } of endpoints) assert.ok(!text.includes(secret.toString("hex")));
});

test("a running service signs with the same secrets during and after a rotation of the key", async () => {
  const receiver = await openCallbackReceiver();
  const deliverers = openDeliverers(api.app, lasting_lease);
  try {
    const { id, secret } = await newEndpoint(receiver.url);
    const deliver = async () => {
      const before_count = receiver.received.length;
      await makeEvents(api.app, account, [{ type: "lead.updated" }]);
      await relay(api.app);
      await eventually(async () => {
        await deliverers.startDue();
        return receiver.received.length > before_count;
      });
      const { text, headers } = receiver.received.at(-1)!;
      new Webhook(secret).verify(text, headers as Record<string, string>);
    };
    api.clock.set(new Date().toISOString());
    await deliver();
    const former = keys[0]!;
    keys = [randomBytes(32), former];
    await deliver();
    const operator = openSecrets(() => keys);
    assert.ok((await sealStoredSecrets(api.app.db, operator, { reseal: true })) > 0);
    assert.equal(await sealStoredSecrets(api.app.db, operator, { reseal: true }), 0);
    keys = [keys[0]!];
    await deliver();
    assert.equal(await secretOf(id), secret);
    const restarted = openSecrets(() => keys);
    await requireKeys(api.app.db, restarted);
    assert.deepEqual(await findClosedSecrets(api.app.db, restarted), []);
    const used = new Set((await countStoredSecrets(api.app.db)).map(({ key }) => key));
    assert.deepEqual([...used], [restarted.currentKey()]);
  } finally {
    await receiver.close();
    await deliverers.stop();
  }
});

test("a wrong key is refused by name, and opens nothing", async () => {
  const { id } = await newEndpoint();
  const wrong = openSecrets(() => [randomBytes(32)]);
  await assert.rejects(requireKeys(api.app.db, wrong), (error: Error) => {
    assert.ok(error instanceof SecretError);
    assert.match(error.message, /^TRUNKLINE_SECRET_KEY: no key opens .*callback_endpoints\.secret/);
    assert.ok(error.message.includes(secrets.currentKey()));
    return true;
  });
  await assert.rejects(sealStoredSecrets(api.app.db, wrong, { reseal: true }), SecretError);
  const problems = await findClosedSecrets(api.app.db, wrong);
  assert.ok(problems.some((text) => text.includes(`callback_endpoints.secret of ID ${id}`)));
  assert.deepEqual(await findClosedSecrets(api.app.db, secrets), []);
});

test("a sealed secret does not open in another row, account or column, or when it was changed", async () => {
  const place = { column: "t.a", account_id: 1, id: 2 };
  const sealed = secrets.seal(place, "plain");
  assert.equal(secrets.open(place, sealed).toString(), "plain");
  for (const elsewhere of [{ column: "t.b" }, { account_id: 2 }, { id: 3 }])
    assert.throws(() => secrets.open({ ...place, ...elsewhere }, sealed), SecretError);
  const changed = sealed.slice(0, -4) + (sealed.endsWith("AAAA") ? "BBBB" : "AAAA");
  assert.throws(() => secrets.open(place, changed), SecretError);
  assert.throws(() => secrets.open(place, sealed.slice(0, -24)), SecretError);
  const [mine, theirs] = [await newEndpoint(), await newEndpoint()];
  await api.app.db.query
    .updateTable("callback_endpoints")
    .set((eb) => ({
      secret: eb
        .selectFrom("callback_endpoints as o")
        .select("o.secret")
        .where("o.account_id", "=", account.account_id)
        .where("o.id", "=", theirs.id),
    }))
    .where("account_id", "=", account.account_id)
    .where("id", "=", mine.id)
    .execute();
  const read = await send("GET", `/callbacks/endpoints/${mine.id}/secret`);
  assert.equal(read.status, 500);
  assert.equal((await findClosedSecrets(api.app.db, secrets)).length, 1);
});
