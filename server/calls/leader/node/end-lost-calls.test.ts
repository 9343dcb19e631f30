// Nodes that are out of contact: their calls, agents, credit and campaigns.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import {
  leadNodes,
  openCallClient,
  type CallClient,
} from "../../../../test/support/call-client.ts";
import {
  checkCalls,
  checkLedger,
  checkVoiceCampaigns,
} from "../../../../test/support/check-invariants.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import {
  openInterruptibleSwitches,
  type InterruptibleSwitches,
} from "../../../../test/support/interruptible-switch.ts";
import {
  makeCallingAccount,
  makeNode,
  makeTrunk,
} from "../../../../test/support/telephony-factory.ts";
import { tone } from "../../../../test/support/tone-speech.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import { openSandboxVoiceDriver } from "../../../drivers/voice/sandbox/open-sandbox-driver.ts";
import { completeVoiceCampaigns } from "../../../voice/campaigns/complete-voice-campaigns.ts";
import { endOverdueCalls } from "../../controls/end-overdue-calls.ts";
import { storeAudio } from "../../audio/audio-files.ts";
import { claimRecipients } from "./leader-statements.ts";

const times = { reconcile_ms: 30_000, missing_ms: 100, recording_ms: 100, lost_ms: 300 };
const patient = { ...times, lost_ms: 3_600_000 };

const sandbox = openSandboxVoiceDriver({ pace: 50 });
/** Runs before each dial. */
let beforeDial = (_nodeId: number) => {};
/** Runs before CDRs are read. */
let beforeCdrs = async () => {};
const switches: InterruptibleSwitches = openInterruptibleSwitches(
  sandbox,
  (id) => beforeDial(id),
  () => beforeCdrs(),
);
let api: TestApi;
let client: CallClient;
let nodes: readonly [number, number];
let trunk_id: number;
let leaders: { stop(): Promise<void> };

before(async () => {
  api = await startApi({ voiceDrivers: { sandbox: switches.driver } });
});
after(async () => {
  await sandbox.close();
  await api.close();
});

// Each test has its own account and nodes.
beforeEach(async () => {
  const { app } = api;
  const account = await makeCallingAccount(app);
  client = await openCallClient(api, account);
  nodes = [await makeNode(app), await makeNode(app)];
  trunk_id = await makeTrunk(app, nodes, { only_account_id: account.account_id });
  beforeDial = () => {};
  beforeCdrs = async () => {};
});
afterEach(async () => {
  await leaders.stop();
  api.clock.release();
  const { pool } = api.app.db;
  await checkCalls(pool);
  await checkLedger(pool);
  await checkVoiceCampaigns(pool);
  await pool.query("update voice_nodes set active = false");
});

async function lead(of: typeof times = times): Promise<void> {
  leaders = leadNodes(api.app, of);
  await eventually(async () => (await connectedNodes()).length === nodes.length);
}

async function connectedNodes(): Promise<number[]> {
  const rows = await api.app.db.query
    .selectFrom("voice_nodes")
    .select("id")
    .where("id", "in", [...nodes])
    .where("connected_at", "is not", null)
    .execute();
  return rows.map(({ id }) => id);
}

async function isLost(nodeId: number): Promise<boolean> {
  const { body } = await api.app.db.query
    .selectFrom("voice_nodes")
    .select("lost_at as body")
    .where("id", "=", nodeId)
    .executeTakeFirstOrThrow();
  return body !== null;
}

/** Places a call that both parties answer and neither ends. */
async function talk(from_number = "101"): Promise<{ campaign: number; node_id: number }> {
  const campaign = await client.call({ to_number: "9800777900", from_number });
  await client.awaitCall(campaign, "in-progress");
  const { node_id } = await api.app.db.query
    .selectFrom("calls")
    .select("node_id")
    .where("account_id", "=", client.account.account_id)
    .where("campaign_id", "=", campaign)
    .executeTakeFirstOrThrow();
  return { campaign, node_id };
}

async function credits(): Promise<{ available: number; reserved: number }> {
  return (await client.ask("GET", "/api/v1/credits")).body.call;
}

test("a lost node's calls end as lost when the node was last in contact, and free their agent, their pair and the unused credit", async () => {
  const had = await credits();
  await lead();
  const { campaign, node_id } = await talk();
  const seen_at = api.clock.now();
  switches.cut(node_id, seen_at);
  // The call is paid until the contact ended, however long the loss goes unnoticed.
  api.clock.advance(36_000_000);
  const record = await client.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, record.ended_by], ["node_lost", "system"]);
  assert.deepEqual([record.ended_at, record.cost], [seen_at.toISOString(), 2]);
  assert.deepEqual(await credits(), { ...had, available: had.available - 2 });
  assert.ok(await isLost(node_id));
  api.clock.release();
  // The same agent and customer talk on the other node.
  const again = await talk();
  assert.notEqual(again.node_id, node_id);
  const [{ call_id }] = await client.callRecords(again.campaign);
  await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  await client.awaitCall(again.campaign, "completed");
});

test("a node leader that never reaches its switch does not extend the bill of the calls that were lost there", async () => {
  await lead(patient);
  const { campaign, node_id } = await talk();
  await leaders.stop();
  for (let restart = 0; restart < 3; restart++) {
    switches.cut(node_id, api.clock.now());
    api.clock.advance(240_000);
    leaders = leadNodes(api.app, patient);
    await eventually(async () => (await connectedNodes()).length === 1);
    await leaders.stop();
  }
  switches.restore(node_id, true);
  await lead(patient);
  const record = await client.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, record.cost], ["node_lost", 2]);
});

test("a call that is lost after its leader was killed ends no earlier than its last key press", async () => {
  await lead(patient);
  // This agent presses keys, and stays.
  const { campaign, node_id } = await talk("9999777101");
  let last: string | undefined;
  await eventually(async () => {
    const [{ events }] = await client.callRecords(campaign);
    last = events.findLast(({ type }: { type: string }) => type === "call.dtmf")?.at;
    return last !== undefined;
  });
  await leaders.stop();
  // The record after a leader was killed: seen for the last time before the call.
  await api.app.db.query
    .updateTable("voice_nodes")
    .set({ last_seen_at: new Date(0) })
    .where("id", "=", node_id)
    .execute();
  switches.cut(node_id, api.clock.now());
  leaders = leadNodes(api.app, times);
  const record = await client.awaitCall(campaign, "completed");
  assert.equal(record.ended_reason, "node_lost");
  assert.ok(record.ended_at >= last!, `${record.ended_at} is before ${last}`);
});

test("channels that outlive the loss of their node are hung up once it is in contact again", async () => {
  await lead();
  const { campaign, node_id } = await talk();
  switches.cut(node_id, api.clock.now());
  await client.awaitCall(campaign, "completed");
  const legs = async () => (await switches.behind(node_id).snapshot()).legs.length;
  switches.restore(node_id);
  await eventually(async () => (await connectedNodes()).includes(node_id));
  await eventually(async () => (await legs()) === 0);
  assert.equal(await isLost(node_id), false);
});

test("a node that is in contact again while the CDRs of its calls are read is not lost, and its calls go on", async () => {
  await lead();
  const { campaign, node_id } = await talk();
  const reading = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  beforeCdrs = () => {
    reading.resolve();
    return read.promise;
  };
  switches.cut(node_id, api.clock.now());
  await reading.promise;
  switches.restore(node_id);
  await eventually(async () => (await connectedNodes()).includes(node_id));
  read.resolve();
  const [{ call_id }] = await client.callRecords(campaign);
  // The node leader executes it after the end of the loss.
  await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  const record = await client.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, await isLost(node_id)], ["hung_up_by_api", false]);
});

test("a call that no node places within an hour ends as too late without a leader of its node, and its credit is released", async () => {
  const had = await credits();
  await lead();
  for (const node of nodes) switches.cut(node, api.clock.now());
  const campaign = await client.call({ to_number: "9800777900", from_number: "101" });
  for (const node of nodes) await eventually(() => isLost(node));
  await leaders.stop();
  api.clock.advance(3_000_000);
  await endOverdueCalls(api.app);
  assert.deepEqual(await credits(), { available: had.available - 2, reserved: 2 });
  api.clock.advance(600_001);
  await endOverdueCalls(api.app);
  const record = await client.awaitCall(campaign, "canceled");
  assert.deepEqual([record.ended_reason, record.cost, record.legs], ["too_late", 0, []]);
  assert.deepEqual(await credits(), had);
});

test("a call that waits to ring its agent again ends with the loss of its node, and its credit is released", async () => {
  const had = await credits();
  await lead();
  const campaign = await client.call({
    to_number: "9800777900",
    from_number: "486",
    agent_not_pick_policy: "retry_agent",
  });
  await eventually(async () => (await client.callRecords(campaign))[0].legs[0]?.status === "busy");
  // Another leader takes over after the switch was lost.
  await leaders.stop();
  for (const node of nodes) switches.cut(node, api.clock.now());
  leaders = leadNodes(api.app, times);
  const record = await client.awaitCall(campaign, "completed", "failed");
  assert.equal(record.ended_reason, "node_lost");
  assert.deepEqual(await credits(), had);
});

/** Deletes the trunk as if the calls over it had not been stored yet; calls go over a new one. */
async function replaceTrunk(): Promise<void> {
  const { app } = api;
  await app.db.query.deleteFrom("trunks").where("id", "=", trunk_id).execute();
  trunk_id = await makeTrunk(app, nodes, { only_account_id: client.account.account_id });
}

test("a call whose trunk was deleted is hung up as lost by the next node leader, which connects and places other calls", async () => {
  await lead(patient);
  const { campaign, node_id } = await talk();
  await leaders.stop();
  // A recipient whose leg the node leader had not dialed yet.
  const { account_id } = client.account;
  const of = { account_id, campaign_id: await launch(1, 1), trunk_id, node_id, take: 1 };
  const claim = { ...of, fence: 0, caller_id: "0", time_zones: [""] };
  assert.equal((await claimRecipients(api.app.db.pool, claim, api.clock.now())).length, 1);
  await replaceTrunk();
  await lead(patient);
  const record = await client.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, record.ended_by], ["node_lost", "system"]);
  await eventually(async () => (await switches.behind(node_id).snapshot()).legs.length === 0);
  await eventually(async () => (await readCampaign(of.campaign_id)).status === "completed");
  const { failed, attempts } = await readCampaign(of.campaign_id);
  assert.deepEqual([failed, attempts], [1, 1]);
  const again = await talk();
  const [{ call_id }] = await client.callRecords(again.campaign);
  await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  await client.awaitCall(again.campaign, "completed");
});

test("a call whose trunk was deleted ends as lost when the next node leader does not reach the switch", async () => {
  const had = await credits();
  await lead();
  const { campaign, node_id } = await talk();
  await leaders.stop();
  await replaceTrunk();
  switches.cut(node_id, api.clock.now());
  leaders = leadNodes(api.app, times);
  const record = await client.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, record.ended_by], ["node_lost", "system"]);
  await eventually(() => isLost(node_id));
  assert.deepEqual(await credits(), { ...had, available: had.available - record.cost });
});

/** Launches a campaign to customers who stay on the line while the audio plays. */
async function launch(count: number, seconds: number): Promise<number> {
  const { app } = api;
  const { account } = client;
  const sound = tone(seconds * 1_000);
  const audio = await storeAudio(app.db.query, account.account_id, sound, app.clock.now());
  const content = { call_type: "obd_voice_call", prompt: { audio } };
  const { id } = await makeVoiceCampaign(app, account, {
    campaign: {
      trunk_id,
      plan: JSON.stringify({ content, opt_out_key: null, answering_machine: "off" }),
    },
    recipients: Array.from({ length: count }, (_, i) => {
      const number = `98${String(i).padStart(5, "0")}900`;
      return { number, phone: `91${number}` };
    }),
  });
  app.notifications.send("voice_work", String(trunk_id));
  return id;
}

async function callsOn(nodeId: number, stage: string): Promise<number> {
  const { count } = await api.app.db.query
    .selectFrom("calls")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("node_id", "=", nodeId)
    .where("account_id", "=", client.account.account_id)
    .where("stage", "=", stage)
    .executeTakeFirstOrThrow();
  return count;
}

async function readCampaign(id: number) {
  await completeVoiceCampaigns(api.app);
  return (await client.ask("GET", `/api/v1/voice/campaigns/${id}`)).body;
}

test("a campaign goes on over its other node and completes when one node is lost, without tripping the circuit breaker", async () => {
  await lead();
  // Long enough that a busy machine has more than the circuit breaker's 20 failures talking at once.
  const id = await launch(120, 300);
  const [dead] = nodes;
  await eventually(async () => (await callsOn(dead, "talking")) > 25);
  switches.cut(dead, api.clock.now());
  const lost = await callsOn(dead, "talking");
  let campaign = await readCampaign(id);
  await eventually(async () => (campaign = await readCampaign(id)).status === "completed");
  const { body } = await client.ask("GET", `/api/v1/calls?campaign_id=${id}&limit=200`);
  const ended = (body.data as { ended_reason: string; disposition: string }[]).filter(
    ({ ended_reason }) => ended_reason === "node_lost",
  );
  assert.ok(ended.length >= lost);
  // Customers whose phone may have rung when the node was lost are not called again.
  const unanswered = ended.filter(({ disposition }) => disposition === "lost").length;
  assert.deepEqual(
    [campaign.pending, campaign.answered, campaign.failed, campaign.cost],
    [0, 120 - unanswered, unanswered, 120 - unanswered],
  );
});

test("a cancelled campaign completes although its node is lost", async () => {
  await lead();
  const id = await launch(5, 600);
  await eventually(async () => (await readCampaign(id)).in_progress === 5);
  const control = await client.ask("POST", `/api/v1/voice/campaigns/${id}/cancel`);
  assert.equal(control.status, 200, control.text);
  for (const node of nodes) switches.cut(node, api.clock.now());
  await eventually(async () => (await readCampaign(id)).finished_at !== null);
});

test("a recipient whose phone never rang because the node was out of contact is called over another node, as the same attempt", async () => {
  const [dead, other] = nodes;
  const { account_id } = client.account;
  trunk_id = await makeTrunk(api.app, [dead], { only_account_id: account_id });
  await lead();
  let cuts = 0;
  beforeDial = () => {
    if (cuts++ === 0) switches.cut(dead, api.clock.now());
  };
  const id = await launch(8, 1);
  await eventually(() => isLost(dead));
  await api.app.db.query
    .insertInto("trunk_nodes")
    .values({ trunk_id, node_id: other, calls_per_second: 100, calls_max: 100 })
    .execute();
  let campaign = await readCampaign(id);
  await eventually(async () => (campaign = await readCampaign(id)).status === "completed");
  assert.deepEqual([campaign.answered, campaign.attempts], [8, 8]);
  const { body } = await client.ask("GET", `/api/v1/calls?campaign_id=${id}&limit=200`);
  const withdrawn = (body.data as { ended_reason: string; cost: number }[]).filter(
    ({ ended_reason }) => ended_reason === "node_unavailable",
  );
  assert.ok(withdrawn.length > 0);
  assert.ok(withdrawn.every(({ cost }) => cost === 0));
});
