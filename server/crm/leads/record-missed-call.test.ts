// Incoming calls on a trunk: refused, reported, and recorded on the person who called.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { leadNodes } from "../../../test/support/call-client.ts";
import { makeNode, makeTrunk, setCalling } from "../../../test/support/telephony-factory.ts";
import {
  openSandboxVoiceDriver,
  type SandboxVoiceDriver,
} from "../../drivers/voice/sandbox/open-sandbox-driver.ts";
import type { VoiceNode } from "../../drivers/voice/driver.ts";
import { recordMissedCall } from "./record-missed-call.ts";

let api: TestApi;
let sandbox: SandboxVoiceDriver;
let node: VoiceNode;
let account: TestAccount;
let trunk_id: number;
let leaders: { stop(): Promise<void> };

before(async () => {
  sandbox = openSandboxVoiceDriver({ pace: 50 });
  api = await startApi({ voiceDrivers: { sandbox } });
  account = await makeAccount(api.app);
  const id = await makeNode(api.app);
  const only_account_id = account.account_id;
  trunk_id = await makeTrunk(api.app, [id], { endpoint: "own", only_account_id });
  await makeTrunk(api.app, [id], { endpoint: "shared" });
  const other = await makeAccount(api.app);
  await makeTrunk(api.app, [id], { endpoint: "two accounts", only_account_id });
  await makeTrunk(api.app, [id], {
    endpoint: "two accounts",
    only_account_id: other.account_id,
  });
  node = { id, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
  leaders = leadNodes(api.app);
});
after(async () => {
  await leaders.stop();
  await sandbox.close();
  await api.close();
});

const called = (endpoint: string, from: string) =>
  sandbox.receiveCall(node, { endpoint, from, to: "8000000001" });

async function missedCalls(): Promise<unknown[]> {
  const rows = await api.app.db.query
    .selectFrom("events")
    .select(["account_id", "data"])
    .where("type", "=", "call.missed")
    .orderBy("id")
    .execute();
  return rows.map(({ account_id, data }) => [account_id, data]);
}

test("a person who calls back is refused instead of left waiting; the missed call is an event and on their timeline once", async () => {
  const { token, account_id, workspace_id } = account;
  const leads = `/api/v1/crm/workspaces/${workspace_id}/leads`;
  const create = { token, json: { phone: "9876543210", name: "Ada" } };
  const { id } = (await api.send("POST", `${leads}/create`, create)).body;
  await called("own", "+919876543210");
  const data = { phone_number: "919876543210", called_number: "8000000001", trunk_id };
  assert.deepEqual(await missedCalls(), [[account_id, data]]);
  const { payload } = await api.app.db.query
    .selectFrom("jobs")
    .select("payload")
    .where("account_id", "=", account_id)
    .where("kind", "=", "crm.record_missed_call")
    .executeTakeFirstOrThrow();
  await recordMissedCall(api.app, { account_id, payload });
  await recordMissedCall(api.app, { account_id, payload });
  const timeline = (await api.send("GET", `${leads}/${id}/timeline`, { token })).body.data;
  const missed = timeline.filter(({ kind }: { kind: string }) => kind === "missed_call");
  assert.deepEqual(
    missed.map((entry: { data: unknown }) => entry.data),
    [{ calledNumber: "8000000001" }],
  );
});

test("a missed call from the other spelling of a lead's phone is on the lead's timeline", async () => {
  const brazilian = await makeAccount(api.app);
  const { token, account_id, workspace_id } = brazilian;
  await setCalling(api.app, brazilian, { country_code: "55" });
  const leads = `/api/v1/crm/workspaces/${workspace_id}/leads`;
  const create = { token, json: { phone: "1187654321", name: "Ada" } };
  const { id } = (await api.send("POST", `${leads}/create`, create)).body;
  const payload = {
    phone: "5511987654321",
    called_number: "8000000001",
    at: api.clock.now().toISOString(),
  };
  await recordMissedCall(api.app, { account_id, payload });
  const timeline = (await api.send("GET", `${leads}/${id}/timeline`, { token })).body.data;
  const missed = timeline.filter(({ kind }: { kind: string }) => kind === "missed_call");
  assert.deepEqual(
    missed.map((entry: { data: unknown }) => entry.data),
    [{ calledNumber: "8000000001" }],
  );
});

test("a missed call is not on the timeline of another country's number with the same ten digits", async () => {
  const moved = await makeAccount(api.app);
  const { token, account_id, workspace_id } = moved;
  const leads = `/api/v1/crm/workspaces/${workspace_id}/leads`;
  const create = { token, json: { phone: "9876543210", name: "Ada" } };
  const { id } = (await api.send("POST", `${leads}/create`, create)).body;
  await setCalling(api.app, moved, { country_code: "44" });
  const at = api.clock.now().toISOString();
  const payload = { phone: "449876543210", called_number: "8000000001", at };
  await recordMissedCall(api.app, { account_id, payload });
  const timeline = (await api.send("GET", `${leads}/${id}/timeline`, { token })).body.data;
  assert.deepEqual(
    timeline.map(({ kind }: { kind: string }) => kind),
    ["created"],
  );
});

test("a call without a number, or over an endpoint of several accounts, is refused too, and reveals no person", async () => {
  const before_count = (await missedCalls()).length;
  await called("own", "anonymous");
  await called("shared", "+919876543210");
  await called("two accounts", "+919876543210");
  const [withheld, ...more] = (await missedCalls()).slice(before_count);
  const data = { phone_number: null, called_number: "8000000001", trunk_id };
  assert.deepEqual([withheld, more], [[account.account_id, data], []]);
});

test("a call that arrives while no leader is connected is refused by the next one", async () => {
  await leaders.stop();
  const refused = called("own", "+919876543211");
  leaders = leadNodes(api.app);
  await refused;
});
