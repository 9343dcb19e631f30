import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { makeNode, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { findVoiceNode } from "./find-voice-node.ts";

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
  return api.send(method, `/api/v1/voice-nodes${under}`, { token, json });
};

/** A process receives its own notifications twice: at once, and from the database. */
function assertNotified(...subjects: string[]): void {
  for (const subject of subjects)
    assert.ok(notified.includes(subject), `${subject}: ${notified.join()}`);
}

const load = { calls_per_second: 50, calls_max: 500 };
const sandbox = () => ({ name: unique("sandbox"), driver: "sandbox", ...load });
const ari = () => ({
  url: "http://127.0.0.1:8088/ari/",
  user: "trunkline",
  password: "s3cret",
  app: unique("app"),
});
const asterisk = () => ({
  name: unique("asterisk"),
  driver: "asterisk",
  ari: ari(),
  cdr_path: "/var/log/asterisk/cdr-csv/trunkline.csv",
  sounds_dir: "/var/lib/trunkline/sounds",
  ...load,
});

test("an Asterisk is created, read, listed, updated and deleted, and its password is never returned", async () => {
  const wanted = asterisk();
  const created = await request("POST", "", wanted);
  assert.equal(created.status, 201, created.text);
  const { id } = created.body;
  const { password: _, ...shown } = wanted.ari;
  const expected = {
    id,
    ...wanted,
    ari: { ...shown, url: "http://127.0.0.1:8088/ari", password_set: true },
    active: true,
    connected: false,
    lost_at: null,
    created_at: created.body.created_at,
    updated_at: created.body.created_at,
  };
  assert.deepEqual(created.body, expected);
  assert.deepEqual((await request("GET", `/${id}`)).body, expected);
  const listed = await request("GET", "?limit=200");
  assert.deepEqual(listed.body.data.at(-1), expected);
  const changed = await request("PATCH", `/${id}`, {
    ari: { password: "n3w" },
    cdr_path: null,
    sounds_dir: "/srv/sounds",
  });
  assert.equal(changed.status, 200, changed.text);
  const { cdr_path, sounds_dir } = changed.body;
  assert.deepEqual([changed.body.ari, cdr_path, sounds_dir], [expected.ari, null, "/srv/sounds"]);
  for (const { text } of [created, listed, changed]) assert.doesNotMatch(text, /s3cret|n3w/);
  const node = await findVoiceNode(api.app, id);
  assert.deepEqual(node.ari, { ...shown, url: expected.ari.url, password: "n3w" });
  assert.equal(node.sounds_dir, "/srv/sounds");
  assert.equal((await request("DELETE", `/${id}`)).status, 204);
  for (const [method, json] of [["GET"], ["PATCH", { name: "x" }], ["DELETE"]] as const)
    assert.equal((await request(method, `/${id}`, json)).status, 404, method);
});

test("every invalid field of a node is reported", async () => {
  const existing = asterisk();
  await request("POST", "", existing);
  const good = asterisk();
  const cases: [unknown, string[]][] = [
    [{}, ["name", "driver", "calls_per_second", "calls_max"]],
    [{ ...sandbox(), driver: "freeswitch" }, ["driver"]],
    [{ ...sandbox(), calls_per_second: 0, calls_max: 100_001 }, ["calls_per_second", "calls_max"]],
    [
      { ...sandbox(), ari: ari(), cdr_path: "/x", sounds_dir: "/x" },
      ["ari", "cdr_path", "sounds_dir"],
    ],
    [{ ...good, ari: null }, ["ari"]],
    [{ ...good, cdr_path: "cdr.csv" }, ["cdr_path"]],
    [{ ...good, sounds_dir: "sounds" }, ["sounds_dir"]],
    [{ ...good, sounds_dir: "/sounds,more" }, ["sounds_dir"]],
    [{ ...good, ari: { ...good.ari, user: "a:b" } }, ["ari.user"]],
    [{ ...good, ari: { ...good.ari, app: "a b" } }, ["ari.app"]],
    [{ ...good, ari: { ...good.ari, password: "" } }, ["ari.password"]],
    ...["x", "ftp://a/ari", "http://u:p@a/ari", "http://a/ari?x=1", "http://a/ari#x"].map(
      (url): [unknown, string[]] => [{ ...good, ari: { ...good.ari, url } }, ["ari.url"]],
    ),
    [{ ...good, name: existing.name, ari: existing.ari }, ["name", "ari.app"]],
    [{ ...good, connected: true }, ["connected"]],
  ];
  for (const [json, fields] of cases)
    assert.deepEqual(failingFields(await request("POST", "", json)), fields, JSON.stringify(json));
  const { id } = (await request("POST", "", sandbox())).body;
  for (const [json, fields] of [
    [{}, ["body"]],
    [{ name: existing.name }, ["name"]],
    [{ driver: "asterisk" }, ["driver"]],
    [{ ari: ari() }, ["ari"]],
    [{ ari: { url: "x" } }, ["ari.url"]],
    [{ cdr_path: "/x" }, ["cdr_path"]],
    [{ sounds_dir: "/x" }, ["sounds_dir"]],
  ] as const)
    assert.deepEqual(failingFields(await request("PATCH", `/${id}`, json)), fields);
});

test("a changed node's leader is notified, and updated_at grows even if the clock does not", async () => {
  const { id } = (await request("POST", "", sandbox())).body;
  const stamps: string[] = [];
  for (const calls_max of [10, 20]) {
    const { body } = await request("PATCH", `/${id}`, { calls_max });
    assert.equal(body.calls_max, calls_max);
    assertNotified(`${id}:0`);
    stamps.push(body.updated_at);
  }
  assert.ok(stamps[1]! > stamps[0]!);
});

test("queued calls of a deactivated node move to another node of their trunk, if there is one", async () => {
  const [one, two, away] = [
    await makeNode(api.app),
    await makeNode(api.app, { connected: true }),
    await makeNode(api.app, { active: false, connected: true }),
  ];
  const both = await makeTrunk(api.app, [one, two, away]);
  const only = await makeTrunk(api.app, [one, away]);
  const at = (trunk_id: number) => ({ place: { node_id: one, trunk_id } });
  const moves = await makeCall(api.app, operator, at(both));
  const stays = await makeCall(api.app, operator, at(only));
  const lives = await makeCall(api.app, operator, { ...at(both), call: { stage: "talking" } });
  const { status } = await request("PATCH", `/${one}`, { active: false });
  assert.equal(status, 200);
  const nodes = await Promise.all(
    [moves, stays, lives].map(async ({ id }) => {
      const call = await api.app.db.query
        .selectFrom("calls")
        .select("node_id")
        .where("account_id", "=", operator.account_id)
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      return call.node_id;
    }),
  );
  assert.deepEqual(nodes, [two, one, one]);
  assertNotified(`${one}:0`, `${two}:${operator.account_id}`);
});

test("a node with calls can be deleted once it is inactive and its calls have ended; its recordings are then gone", async () => {
  const node_id = await makeNode(api.app);
  const trunk_id = await makeTrunk(api.app, [node_id]);
  const call = { stage: "talking", recording_state: "ready" };
  const { id } = await makeCall(api.app, operator, { place: { node_id, trunk_id }, call });
  const assertRefused = async () => {
    const refused = await request("DELETE", `/${node_id}`);
    assert.deepEqual([refused.status, refused.body.type], [409, "conflict"]);
    assert.equal((await request("GET", `/${node_id}`)).status, 200);
  };
  await request("PATCH", `/${node_id}`, { active: false });
  await assertRefused();
  await api.app.db.pool.query("update calls set stage = 'ended' where id = $1", [id]);
  await request("PATCH", `/${node_id}`, { active: true });
  await assertRefused();
  await request("PATCH", `/${node_id}`, { active: false });
  assert.equal((await request("DELETE", `/${node_id}`)).status, 204);
  const recording = await api.send("GET", `/api/v1/calls/${id}/recording`, {
    token: operator.token,
  });
  assert.equal(recording.status, 404);
});

test("a node keeps its ARI application while it has live calls, recordings or messages that are not deleted", async () => {
  const { id: node_id } = (await request("POST", "", asterisk())).body;
  const trunk_id = await makeTrunk(api.app, [node_id]);
  const call = { stage: "talking", recording_state: "none" };
  const { account_id } = operator;
  const { id: call_id } = await makeCall(api.app, operator, { place: { node_id, trunk_id }, call });
  const patch = (app: string) => request("PATCH", `/${node_id}`, { ari: { app } });
  const assertRefused = async () => {
    const { status, body } = await patch(unique("app"));
    assert.deepEqual([status, body.type], [409, "conflict"]);
  };
  const update = (set: string) =>
    api.app.db.pool.query(`update calls set ${set} where account_id = $1 and id = $2`, [
      account_id,
      call_id,
    ]);
  await assertRefused();
  for (const state of ["ready", "failed"]) {
    await update(`stage = 'ended', recording_state = '${state}'`);
    await assertRefused();
  }
  await update("recording_state = 'deleted'");
  const message = { account_id, call_id, recording: "m1", node: "1", at: new Date() };
  await api.app.db.query
    .insertInto("call_messages")
    .values({ ...message, state: "ready" })
    .execute();
  await assertRefused();
  const { ari: kept } = (await request("GET", `/${node_id}`)).body;
  const other = { user: "other", app: kept.app };
  assert.equal((await request("PATCH", `/${node_id}`, { ari: other })).status, 200);
  await api.app.db.query
    .updateTable("call_messages")
    .set({ state: "deleted" })
    .where("account_id", "=", account_id)
    .where("call_id", "=", call_id)
    .execute();
  const app = unique("app");
  const changed = await patch(app);
  assert.deepEqual([changed.status, changed.body.ari?.app], [200, app]);
});

test("changes of nodes are audited with the names of the changed fields", async () => {
  const { id } = (await request("POST", "", asterisk())).body;
  await request("PATCH", `/${id}`, { name: unique("node"), ari: { password: "n3w" } });
  await request("DELETE", `/${id}`);
  const audit = await api.send("GET", `/api/v1/audit?subject_id=${id}`, { token: operator.token });
  assert.deepEqual(
    audit.body.data.map(({ action, detail }: { action: string; detail: { changed?: unknown } }) => [
      action,
      detail.changed,
    ]),
    [
      ["voice_node.deleted", undefined],
      ["voice_node.updated", ["name", "ari.password"]],
      ["voice_node.created", undefined],
    ],
  );
});

test("only operators may manage nodes", async () => {
  const without = await makeAccount(api.app, { features: ["crm", "bulk_chat", "voice", "calls"] });
  const manager = await makeAgentToken(api.app, without, ["installation.manage"]);
  const agent = await makeAgentToken(api.app, operator, ["account.manage", "agents.manage"]);
  for (const token of [without.token, manager, agent])
    assert.equal((await request("GET", "", undefined, token)).status, 403);
  const allowed = await makeAgentToken(api.app, operator, ["installation.manage"]);
  assert.equal((await request("GET", "", undefined, allowed)).status, 200);
});
