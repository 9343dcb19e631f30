import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import pg from "pg";
import { startAsterisk, type RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import { storeAudio } from "../../server/calls/audio/audio-files.ts";
import type { VoicePlan } from "../../server/calls/state-machine/voice-plan.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { checkCalls, checkLedger, checkVoiceCampaigns } from "../support/check-invariants.ts";
import { eventually } from "../support/eventually.ts";
import { startCarrier, startPhones } from "../support/sipp.ts";
import { makeNode } from "../support/telephony-factory.ts";
import { tone } from "../support/tone-speech.ts";
import { makeVoiceCampaign } from "../support/voice-factory.ts";
import { openCallDrillFixture, type CallDrillFixture, type Worker } from "./call-drill-fixture.ts";
import { customer } from "./call-load.ts";

/** Everything is right two minutes after a node died, with the default of 60 s without contact; later on a busy machine. */
const patience_s = 240;
const recipients = 60;
const legs_per_second = 10;
/** Calls on a node when it is killed: fewer than a slow machine has at once. */
const lost_min = 10;

type SecondNode = AsyncDisposable & {
  readonly node_id: number;
  readonly asterisk: RunningAsterisk;
};

/** Adds a second Asterisk, with a carrier and phones of its own, to the fixture's trunk. */
async function addNode(fixture: CallDrillFixture): Promise<SecondNode> {
  const run_dir = await mkdtemp(join(tmpdir(), "trunkline-drill-asterisk-"));
  const asterisk = await startAsterisk({ run_dir });
  const far_ends = [await startCarrier(asterisk), await startPhones(asterisk)];
  const db = openDatabase(fixture.database_url, openLog("silent", { readable: false }));
  const { ari_url, ari_user, ari_password, app: ari_app, cdr_path, sounds_dir } = asterisk;
  const ari = { ari_url, ari_user, ari_password, ari_app, cdr_path, sounds_dir };
  const load = { calls_per_second: legs_per_second, calls_max: 1_000 };
  const node_id = await makeNode(
    { db, clock: systemClock },
    { driver: "asterisk", ...ari, ...load },
  );
  await db.query
    .insertInto("trunk_nodes")
    .values({ trunk_id: fixture.trunk_id, node_id, ...load })
    .execute();
  await db.close();
  return {
    node_id,
    asterisk,
    async [Symbol.asyncDispose]() {
      await Promise.all([asterisk.kill(), ...far_ends.map((sipp) => sipp.stop())]);
      await rm(run_dir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Launches a campaign that plays ten seconds of audio to recipients who stay; returns its ID. */
async function launch(fixture: CallDrillFixture): Promise<number> {
  const db = openDatabase(fixture.database_url, openLog("silent", { readable: false }));
  const app = { db, clock: systemClock };
  const { account, trunk_id } = fixture;
  const audio = await storeAudio(db.query, account.account_id, tone(10_000), systemClock.now());
  const plan: VoicePlan = {
    content: { call_type: "obd_voice_call", prompt: { audio } },
    opt_out_key: null,
    answering_machine: "off",
  };
  const { id } = await makeVoiceCampaign(app, account, {
    campaign: { trunk_id, plan: JSON.stringify(plan) },
    recipients: Array.from({ length: recipients }, () => {
      const number = customer("stays");
      return { number, phone: `91${number}` };
    }),
  });
  await db.close();
  return id;
}

const connected = async ({ query }: CallDrillFixture) =>
  (await query("select from voice_nodes where connected_at is not null")).length;

async function startWorkers(fixture: CallDrillFixture): Promise<Worker[]> {
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await eventually(async () => (await connected(fixture)) === 2);
  return workers;
}

async function checkAll(fixture: CallDrillFixture): Promise<void> {
  const client = new pg.Client({ connectionString: fixture.database_url });
  await client.connect();
  try {
    await checkCalls(client);
    await checkLedger(client);
    await checkVoiceCampaigns(client);
  } finally {
    await client.end();
  }
}

test("after one of two Asterisk nodes was killed in mid-campaign, its calls have ended, its agents are free, unused credit is released and the campaign has completed over the other node", async () => {
  await using fixture = await openCallDrillFixture({ legs_per_second });
  await using second = await addNode(fixture);
  const { node_id } = second;
  await startWorkers(fixture);
  const had = await balance(fixture);
  // Conversations that no party ends, until there are some on both nodes.
  const talking = (node: number) =>
    fixture.count("stage = 'talking' and recipient_id is null and node_id = $1", [node]);
  for (const node of [fixture.node_id, node_id])
    while ((await talking(node)) < 2) {
      const number = customer("stays");
      assert.equal(await fixture.call("answers", number), 200);
      // A phone of a slow machine may not answer in time: then there is another call.
      await fixture.awaitCall(`to_number = '${number}' and stage in ('talking', 'ended')`);
    }
  const campaign = await launch(fixture);
  const isOnNode = "recipient_id is not null and node_id = $1 and stage = 'talking'";
  await eventually(async () => (await fixture.count(isOnNode, [node_id])) > lost_min);

  await second.asterisk.kill();
  const killed_ms = performance.now();
  const [{ at: killed_at } = { at: new Date() }] = await fixture.query<{ at: Date }>(
    "select clock_timestamp() as at",
  );
  await eventually(async () => (await connected(fixture)) === 1);
  const cut = await fixture.query<{ id: number }>(
    "select id::int from calls where node_id = $1 and stage not in ('queued', 'ended')",
    [node_id],
  );
  // A click-to-call that is submitted to the dead node is placed by the other one.
  const showOnly = (node: number) =>
    fixture.query("update voice_nodes set connected_at = case when id = $1 then now() end", [node]);
  let waiting: string;
  do {
    waiting = customer("hangs_up", 1);
    await showOnly(node_id);
    assert.equal(await fixture.call("answers", waiting), 200);
    await showOnly(fixture.node_id);
    // The leader of the other node may show its connection again in between: then there is another call.
  } while ((await fixture.count("to_number = $1 and node_id = $2", [waiting, node_id])) === 0);
  const isOver = async () => {
    const [row] = await fixture.query<{ state: string }>(
      "select state from voice_campaigns where id = $1",
      [campaign],
    );
    return row!.state === "completed";
  };
  await eventually(isOver, patience_s);
  const isLive = "node_id = $1 and stage <> 'ended'";
  await eventually(async () => (await fixture.count(isLive, [node_id])) === 0);
  await fixture.awaitCall(`to_number = '${waiting}' and status = 'completed'`);
  const took_ms = Math.round(performance.now() - killed_ms);

  const ids = cut.map(({ id }) => id);
  // A few were claimed before the loss was noticed, and never dialed.
  const late =
    "id = any ($1) and ended_reason <> 'node_unavailable' and ended_at > greatest($2, initiated_at)";
  assert.equal(await fixture.count(late, [ids, killed_at]), 0, "none ends after the kill");
  const isLost = "id = any ($1) and ended_reason = 'node_lost' and cost > 0";
  assert.ok((await fixture.count(isLost, [ids])) > lost_min);
  const states = await fixture.query<{ state: string }>(
    "select distinct state from voice_recipients where campaign_id = $1",
    [campaign],
  );
  assert.deepEqual(
    states.filter(({ state }) => !["answered", "failed"].includes(state)),
    [],
  );
  assert.deepEqual(await fixture.query("select * from voice_holds"), []);
  // The conversations on the other node go on; a user ends them.
  for (const { id } of await fixture.query<{ id: number }>(
    "select id::int from calls where stage = 'talking'",
  ))
    await hangUp(fixture, id);
  await fixture.awaitAllEnded();
  await checkAll(fixture);
  const spent = await fixture.query<{ cost: number }>("select sum(cost)::int as cost from calls");
  assert.deepEqual(await balance(fixture), { ...had, available: had.available - spent[0]!.cost });
  console.log(
    `${ids.length} calls lost; right after ${took_ms} ms; ${JSON.stringify(await fixture.outcomes())}`,
  );
  assert.deepEqual(fixture.crashes(), []);
});

test("a node that was frozen until it was lost has its orphaned channels hung up when it is back, and takes calls again", async () => {
  const env = { NODE_LOST_SECONDS: "5" };
  await using fixture = await openCallDrillFixture({ env, legs_per_second });
  await using second = await addNode(fixture);
  const { node_id, asterisk } = second;
  await startWorkers(fixture);
  await fixture.query("update voice_nodes set calls_max = 1 where id = $1", [fixture.node_id]);
  await launch(fixture);
  const isOnNode = "node_id = $1 and stage = 'talking'";
  await eventually(async () => (await fixture.count(isOnNode, [node_id])) > 5);
  process.kill(asterisk.pid, "SIGSTOP");
  await eventually(
    async () => (await fixture.count("node_id = $1 and ended_reason = 'node_lost'", [node_id])) > 5,
  );
  process.kill(asterisk.pid, "SIGCONT");
  const [{ at: back_at } = { at: new Date() }] = await fixture.query<{ at: Date }>(
    "select clock_timestamp() as at",
  );
  const isNew = "node_id = $1 and answered_at > $2";
  await eventually(async () => (await fixture.count(isNew, [node_id, back_at])) > 0);
  await fixture.query("update voice_campaigns set state = 'cancelled'");
  await eventually(async () =>
    /^0 active channels/m.test(await asterisk.cli("core show channels count")),
  );
  assert.deepEqual(await fixture.query("select from voice_nodes where lost_at is not null"), []);
  await fixture.awaitAllEnded();
  await checkAll(fixture);
  assert.deepEqual(fixture.crashes(), []);
});

async function balance({ api, account }: CallDrillFixture) {
  const { token } = account;
  const { body } = await api.send("GET", "/api/v1/credits", { token });
  return body.call as { available: number; reserved: number };
}

async function hangUp({ api, account }: CallDrillFixture, id: number): Promise<void> {
  const { token } = account;
  const answer = await api.send("POST", `/api/v1/calls/${id}/hangup`, { token });
  assert.equal(answer.status, 200, answer.text);
}
