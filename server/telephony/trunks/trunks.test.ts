import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import {
  makeCallingAccount,
  makeNode,
  makeTrunk,
} from "../../../test/support/telephony-factory.ts";
import { makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { endOverdueCalls, late_ms_max } from "../../calls/controls/end-overdue-calls.ts";
import { beginIncomingCall } from "../../calls/leader/node/incoming-statements.ts";
import { claimRecipients } from "../../calls/leader/node/leader-statements.ts";
import type { Tx } from "../../lib/database/database.ts";

let api: TestApi;
let operator: TestAccount;
let notified: string[] = [];

before(async () => {
  api = await startApi();
  operator = await makeAccount(api.app);
  await makeCredits(api.app, operator, { call: 100 });
  api.app.notifications.on("call_work", (subject) => notified.push(subject));
});
after(() => api.close());

const request = async (method: string, under: string, json?: unknown, token = operator.token) => {
  notified = [];
  return api.send(method, `/api/v1/trunks${under}`, { token, json });
};

/** A process receives its own notifications twice: at once, and from the database. */
function assertNotified(...subjects: string[]): void {
  for (const subject of subjects)
    assert.ok(notified.includes(subject), `${subject}: ${notified.join()}`);
}

const load = { calls_per_second: 10, calls_max: 100 };
const stampOf = async (id: number) =>
  (await api.send("GET", `/api/v1/voice-nodes/${id}`, { token: operator.token })).body
    .updated_at as string;

test("a trunk is created, read, listed, updated and deleted with its limits per node", async () => {
  const [one, two] = [await makeNode(api.app), await makeNode(api.app)];
  const wanted = {
    name: unique("carrier"),
    endpoint: "carrier",
    only_account_id: operator.account_id,
    number_format: "plus_e164",
    number_prefix: "0#",
    caller_ids: ["9000000000", "9000000001"],
    caller_ids_only: true,
    agent_numbers: "verified",
    destinations: ["IN", "AE"],
    fallback_trunk_id: await makeTrunk(api.app, []),
    nodes: [{ node_id: one, ...load }],
  };
  const created = await request("POST", "", wanted);
  assert.equal(created.status, 201, created.text);
  assertNotified(`${one}:0`);
  const { id, created_at } = created.body;
  const expected = { id, ...wanted, active: true, created_at, updated_at: created_at };
  assert.deepEqual(created.body, expected);
  assert.deepEqual((await request("GET", `/${id}`)).body, expected);
  assert.deepEqual((await request("GET", "?limit=200")).body.data.at(-1), expected);
  const nodes = [{ node_id: two, calls_per_second: 1, calls_max: 1 }];
  const earlier = await stampOf(one);
  const changed = await request("PATCH", `/${id}`, { nodes, only_account_id: null, active: false });
  assert.equal(changed.status, 200, changed.text);
  assertNotified(`${one}:0`, `${two}:0`);
  assert.ok((await stampOf(one)) > earlier, "its leader restarts");
  assert.deepEqual({ ...changed.body, nodes, only_account_id: null, active: false }, changed.body);
  assert.equal((await request("DELETE", `/${id}`)).status, 204);
  assertNotified(`${two}:0`);
  for (const [method, json] of [["GET"], ["PATCH", { name: "x" }], ["DELETE"]] as const)
    assert.equal((await request(method, `/${id}`, json)).status, 404, method);
});

test("a trunk serves every account, uses E.164 numbers and shows only its accounts' own numbers by default", async () => {
  const { body } = await request("POST", "", { name: unique("t"), endpoint: "t", nodes: [] });
  const { only_account_id, number_format, number_prefix, caller_ids, caller_ids_only } = body;
  assert.deepEqual(
    [only_account_id, number_format, number_prefix, caller_ids, caller_ids_only],
    [null, "e164", "", [], true],
  );
});

test("every invalid field of a trunk is reported", async () => {
  const node_id = await makeNode(api.app);
  const name = unique("carrier");
  const held = await request("POST", "", { name, endpoint: "t", nodes: [] });
  const good = () => ({ name: unique("carrier"), endpoint: "t", nodes: [{ node_id, ...load }] });
  const cases: [unknown, string[]][] = [
    [{}, ["name", "endpoint", "nodes"]],
    [{ ...good(), endpoint: "a/b" }, ["endpoint"]],
    [{ ...good(), endpoint: "a7-201" }, ["endpoint"]],
    [{ ...good(), name, endpoint: "a0-" }, ["name", "endpoint"]],
    [{ ...good(), number_format: "local" }, ["number_format"]],
    [{ ...good(), number_prefix: "+9" }, ["number_prefix"]],
    [{ ...good(), destinations: ["IN", "XX"] }, ["destinations.1"]],
    [{ ...good(), destinations: ["india"] }, ["destinations.0"]],
    [{ ...good(), caller_ids: ["90", "+919000000000"] }, ["caller_ids.0", "caller_ids.1"]],
    [{ ...good(), nodes: [{ node_id }] }, ["nodes.0.calls_per_second", "nodes.0.calls_max"]],
    [{ ...good(), nodes: [0, 1].map(() => ({ node_id, ...load })) }, ["nodes.1.node_id"]],
    [
      { ...good(), name, only_account_id: 2 ** 62, nodes: [{ node_id: 2 ** 62, ...load }] },
      ["name", "only_account_id", "nodes.0.node_id"],
    ],
    [{ ...good(), fallback_trunk_id: 2 ** 50 }, ["fallback_trunk_id"]],
  ];
  for (const [json, fields] of cases)
    assert.deepEqual(failingFields(await request("POST", "", json)), fields, JSON.stringify(json));
  const { id } = held.body;
  assert.deepEqual(failingFields(await request("PATCH", `/${id}`, {})), ["body"]);
  assert.deepEqual(failingFields(await request("PATCH", `/${id}`, { endpoint: "a7-x" })), [
    "endpoint",
  ]);
  assert.equal((await request("PATCH", `/${id}`, { name, endpoint: "a-7" })).status, 200);
});

test("a trunk can be deleted only once its queued and live calls have ended", async () => {
  for (const stage of ["queued", "talking"]) {
    const node_id = await makeNode(api.app);
    const trunk_id = await makeTrunk(api.app, [node_id]);
    const call = await makeCall(api.app, operator, {
      place: { node_id, trunk_id },
      call: { stage },
    });
    const refused = await request("DELETE", `/${trunk_id}`);
    assert.deepEqual([refused.status, refused.body.type], [409, "conflict"], stage);
    await api.app.db.query
      .updateTable("calls")
      .set({ stage: "ended" })
      .where("account_id", "=", operator.account_id)
      .where("id", "=", call.id)
      .execute();
    assert.equal((await request("DELETE", `/${trunk_id}`)).status, 204);
  }
});

test("a trunk that is being deleted gets no call, and is not deleted once it has got one", async () => {
  const { db, clock } = api.app;
  const account = await makeCallingAccount(api.app);
  const { account_id } = account;
  const content = { call_type: "obd_ivr", menu: { start: "bye", nodes: {} } } as const;
  const claims = {
    recipient: async (tx: Tx, node_id: number, trunk_id: number) => {
      const { id: campaign_id } = await makeVoiceCampaign(api.app, account, {
        campaign: { trunk_id },
        recipients: [{ number: "9800000301", phone: "919800000301" }],
      });
      const of = { account_id, campaign_id, trunk_id, node_id, fence: 0, take: 1 };
      return claimRecipients(tx, { ...of, caller_id: "0", time_zones: [""] }, clock.now());
    },
    caller: async (tx: Tx, node_id: number, trunk_id: number) => {
      const of = { account_id, trunk_id, node_id, fence: 0, called: "918000000301", phone: "" };
      const call = await beginIncomingCall(
        tx,
        { ...of, channel: unique("c"), content },
        clock.now(),
      );
      return call ? [call] : [];
    },
  };
  for (const [name, claim] of Object.entries(claims)) {
    const node_id = await makeNode(api.app);
    const trunk_id = await makeTrunk(api.app, [node_id]);
    // The call is stored first.
    const { refused } = await db.query.transaction().execute(async (tx) => {
      assert.equal((await claim(tx, node_id, trunk_id)).length, 1, name);
      const asked = request("DELETE", `/${trunk_id}`);
      await awaitsLock(db.query);
      return { refused: asked };
    });
    assert.equal((await refused).status, 409, name);
    // The trunk is deleted first.
    const other_id = await makeTrunk(api.app, [node_id]);
    assert.equal((await request("DELETE", `/${other_id}`)).status, 204);
    const late = await db.query.transaction().execute((tx) => claim(tx, node_id, other_id));
    assert.deepEqual(late, [], name);
  }
});

test("a node can be removed from a trunk only if its queued calls can move to another node", async () => {
  const [one, two] = [await makeNode(api.app), await makeNode(api.app)];
  const trunk_id = await makeTrunk(api.app, [one]);
  const call = await makeCall(api.app, operator, { place: { node_id: one, trunk_id } });
  const share = (node_id: number) => ({ node_id, ...load });
  assert.equal((await request("PATCH", `/${trunk_id}`, { nodes: [] })).status, 409);
  const kept = await request("GET", `/${trunk_id}`);
  assert.deepEqual(
    kept.body.nodes.map(({ node_id }: { node_id: number }) => node_id),
    [one],
  );
  const moved = await request("PATCH", `/${trunk_id}`, { nodes: [share(two)] });
  assert.equal(moved.status, 200, moved.text);
  assertNotified(`${one}:0`, `${two}:0`, `${two}:${operator.account_id}`);
  const { node_id } = await api.app.db.query
    .selectFrom("calls")
    .select("node_id")
    .where("account_id", "=", operator.account_id)
    .where("id", "=", call.id)
    .executeTakeFirstOrThrow();
  assert.equal(node_id, two);
});

test("queued calls of an account that is frozen for a day keep neither a trunk, its node, nor the node itself; live ones do", async () => {
  const moved = await makeAccount(api.app);
  const { account_id } = moved;
  await makeCredits(api.app, moved, { call: 10 });
  const node_id = await makeNode(api.app, { active: false });
  const trunk_id = await makeTrunk(api.app, [node_id]);
  const call = await makeCall(api.app, moved, { place: { node_id, trunk_id } });
  const change = (table: "accounts" | "calls", values: object) =>
    api.app.db.query
      .updateTable(table)
      .set(values)
      .where("account_id", "=", account_id)
      .executeTakeFirstOrThrow();
  const remove = async () => [
    (await request("PATCH", `/${trunk_id}`, { nodes: [] })).status,
    (await request("DELETE", `/${trunk_id}`)).status,
    (await api.send("DELETE", `/api/v1/voice-nodes/${node_id}`, { token: operator.token })).status,
  ];
  const hoursAgo = (hours: number) => new Date(api.clock.now().getTime() - hours * 3_600_000);
  await change("accounts", { frozen_at: hoursAgo(23) });
  assert.deepEqual(await remove(), [409, 409, 409]);
  await change("accounts", { frozen_at: hoursAgo(25) });
  await change("calls", { stage: "talking" });
  assert.deepEqual(await remove(), [409, 409, 409]);
  await change("calls", { stage: "queued" });
  assert.deepEqual(await remove(), [200, 204, 204]);

  // After an unfreeze, the call ends as too late.
  await change("accounts", { frozen_at: null });
  api.clock.advance(late_ms_max + 1);
  await endOverdueCalls(api.app);
  const path = `/api/v1/calls/${call.id}`;
  const { body } = await api.send("GET", path, { token: moved.token });
  assert.equal(body.ended_reason, "too_late");
});

test("changes of trunks are audited in the operator's account, and other accounts cannot see trunks", async () => {
  const { id } = (await request("POST", "", { name: unique("t"), endpoint: "t", nodes: [] })).body;
  await request("PATCH", `/${id}`, { active: false });
  await request("DELETE", `/${id}`);
  const audit = await api.send("GET", `/api/v1/audit?subject_id=${id}`, { token: operator.token });
  assert.deepEqual(
    audit.body.data.map(({ action }: { action: string }) => action),
    ["trunk.deleted", "trunk.updated", "trunk.created"],
  );
  const without = await makeAccount(api.app, { features: ["calls"] });
  for (const method of ["GET", "POST"])
    assert.equal(
      (await request(method, "", method === "POST" ? {} : undefined, without.token)).status,
      403,
    );
});
