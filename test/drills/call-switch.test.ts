import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { WebSocket } from "ws";
import { openInterruptibleProxy, type InterruptibleProxy } from "../support/interruptible-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/injected-errors.ts";
import { customer, startCallLoad } from "./call-load.ts";
import { openCallDrillFixture, type CallDrillFixture } from "./call-drill-fixture.ts";

const readSeed = (): number => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  return seed;
};

/** Submits a call and returns the milliseconds until it is bridged. */
async function timeToBridge(fixture: CallDrillFixture): Promise<number> {
  const began = performance.now();
  const number = customer("hangs_up", 1);
  assert.equal(await fixture.call("answers", number), 200);
  await eventually(
    async () => (await fixture.count("to_number = $1 and answered_at is not null", [number])) > 0,
  );
  return Math.round(performance.now() - began);
}

test("calls of a killed Asterisk end once, as lost, and new calls work after its restart", async () => {
  const random = seededRandom(readSeed());
  await using fixture = await openCallDrillFixture();
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await fixture.awaitLeader(workers);
  const load = startCallLoad(fixture, 8, random);
  // These customers never hang up; a hangup just before the kill could still be on its way.
  const lasting = ["answers", "answers", "answers"].map(() => customer("stays"));
  for (const number of lasting) assert.equal(await fixture.call("answers", number), 200);
  const countBridged = () => fixture.count("stage = 'talking' and to_number = any ($1)", [lasting]);
  await eventually(async () => (await countBridged()) === lasting.length);
  await fixture.asterisk().kill();
  const bridged = await fixture.query<{ id: number }>(
    "select id::int from calls where stage = 'talking'",
  );
  const [now] = await fixture.query<{ at: Date }>("select clock_timestamp() as at");
  await pause(1_000 + random() * 1_000);
  await fixture.startSwitch();
  const submitted = await fixture.query<{ id: number }>(
    "select id::int from calls where queued_at > $1 and attempt = 1",
    [now!.at],
  );
  const recovery_ms = await timeToBridge(fixture);
  const ids = bridged.map(({ id }) => id);
  await eventually(
    async () => (await fixture.count("id = any ($1) and stage <> 'ended'", [ids])) === 0,
  );
  const isLost = "to_number = any ($1) and ended_reason = 'node_lost'";
  assert.equal(await fixture.count(isLost, [lasting]), lasting.length);
  const waiting = submitted.map(({ id }) => id);
  const isPlaced = "id = any ($1) and exists (select from call_legs l where l.call_id = c.id)";
  await eventually(async () => (await fixture.count(isPlaced, [waiting])) === waiting.length);
  assert.equal(
    await fixture.count("id = any ($1) and ended_reason = 'node_lost'", [waiting]),
    0,
    "calls submitted during the outage are placed after it",
  );
  await load.stop();
  await fixture.awaitAllEnded();
  const figures = await fixture.checkCalls();
  console.log(
    `a kill during ${ids.length} bridged calls; ${waiting.length} submitted during the outage and placed after it; a new call ` +
      `bridged ${recovery_ms} ms after the restart; ${load.accepted()} accepted, other statuses ` +
      `${JSON.stringify(load.refused())}; ${JSON.stringify(await fixture.outcomes())}; ${JSON.stringify(figures)}`,
  );
  assert.deepEqual(fixture.crashes(), []);
});

/** Connects to the same ARI application as another client would, which takes it over, and disconnects. */
async function takeOver(fixture: CallDrillFixture): Promise<void> {
  const { ari_user, ari_password, app, ports } = fixture.asterisk();
  const socket = new WebSocket(`ws://127.0.0.1:${ports.http}/ari/events?app=${app}`, {
    headers: { authorization: `Basic ${btoa(`${ari_user}:${ari_password}`)}` },
  });
  await once(socket, "open");
  socket.close();
  await once(socket, "close");
}

test("calls continue while the connection to the switch is cut repeatedly or another client takes over its ARI application", async (t) => {
  const random = seededRandom(readSeed());
  let line: InterruptibleProxy | null = null;
  t.after(() => line?.close());
  await using fixture = await openCallDrillFixture({
    ari_port: async (real) => (line = await openInterruptibleProxy(real)).port,
  });
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await fixture.awaitLeader(workers);
  const load = startCallLoad(fixture, 8, random);
  const cuts = 6;
  let cut_at = new Date();
  for (let cut = 0; cut < cuts; cut++) {
    await pause(200 + random() * 800);
    cut_at = new Date();
    line!.cut();
    await pause(random() * 200);
    line!.restore();
  }
  // A connection from before the last cut may still be recorded; only a connected leader can be replaced.
  const fence = async () => {
    const rows = await fixture.query<{ fence: number }>(
      `select l.fence::float8 as fence from leases l, voice_nodes n
       where l.name = 'voice_node:' || n.id and n.connected_at > $1`,
      [cut_at],
    );
    return rows[0]?.fence ?? 0;
  };
  let held = 0;
  await eventually(async () => (held = await fence()) > 0);
  const began = performance.now();
  await takeOver(fixture);
  await eventually(async () => (await fence()) > held);
  await timeToBridge(fixture);
  const recovery_ms = Math.round(performance.now() - began);
  await load.stop();
  await fixture.awaitAllEnded();
  const outcomes = await fixture.outcomes();
  const figures = await fixture.checkCalls();
  console.log(
    `${cuts} cuts; bridged again ${recovery_ms} ms after a takeover; ${load.accepted()} accepted, other statuses ` +
      `${JSON.stringify(load.refused())}; ${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  // A dial whose response was cut off may have failed unseen; no answered call is lost.
  assert.equal(await fixture.count("ended_reason = 'node_lost' and answered_at is not null"), 0);
  assert.deepEqual(fixture.crashes(), []);
});
