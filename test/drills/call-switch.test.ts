import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { WebSocket } from "ws";
import { openInterruptibleProxy, type InterruptibleProxy } from "../support/interruptible-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/faults.ts";
import { customer, startCallLoad } from "./call-load.ts";
import { openCallDrillFixture, type CallDrillFixture } from "./call-drill-fixture.ts";

const seedOf = (): number => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  return seed;
};

/** How long it takes until a call that is submitted now talks. */
async function talksAfter(fixture: CallDrillFixture): Promise<number> {
  const began = performance.now();
  const number = customer("hangs_up", 1);
  assert.equal(await fixture.call("answers", number), 200);
  await eventually(
    async () => (await fixture.count("to_number = $1 and answered_at is not null", [number])) > 0,
  );
  return Math.round(performance.now() - began);
}

test("calls of an Asterisk that dies end as lost, once; it works again after its return", async () => {
  const random = seededRandom(seedOf());
  await using fixture = await openCallDrillFixture();
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await fixture.awaitLeader(workers);
  const load = startCallLoad(fixture, 8, random);
  // These stay; what hangs up in the last instant may be on its way to us.
  const staying = ["answers", "answers", "answers"].map(() => customer("stays"));
  for (const number of staying) assert.equal(await fixture.call("answers", number), 200);
  const stay = () => fixture.count("stage = 'talking' and to_number = any ($1)", [staying]);
  await eventually(async () => (await stay()) === staying.length);
  await fixture.asterisk().kill();
  const talks = await fixture.ask<{ id: number }>(
    "select id::int from calls where stage = 'talking'",
  );
  const [now] = await fixture.ask<{ at: Date }>("select clock_timestamp() as at");
  await pause(1_000 + random() * 1_000);
  await fixture.startSwitch();
  const submitted = await fixture.ask<{ id: number }>(
    "select id::int from calls where queued_at > $1 and attempt = 1",
    [now!.at],
  );
  const healed_ms = await talksAfter(fixture);
  const ids = talks.map(({ id }) => id);
  await eventually(
    async () => (await fixture.count("id = any ($1) and stage <> 'ended'", [ids])) === 0,
  );
  const isLost = "to_number = any ($1) and ended_reason = 'node_lost'";
  assert.equal(await fixture.count(isLost, [staying]), staying.length);
  const waiting = submitted.map(({ id }) => id);
  const isPlaced = "id = any ($1) and exists (select from call_legs l where l.call_id = c.id)";
  await eventually(async () => (await fixture.count(isPlaced, [waiting])) === waiting.length);
  assert.equal(
    await fixture.count("id = any ($1) and ended_reason = 'node_lost'", [waiting]),
    0,
    "what was submitted meanwhile is placed after",
  );
  await load.stop();
  await fixture.awaitEnds();
  const figures = await fixture.checkCalls();
  console.log(
    `A death under ${ids.length} talks; ${waiting.length} submitted meanwhile and placed after; a new call ` +
      `talks ${healed_ms} ms after the return; ${load.taken()} taken, others answered ` +
      `${JSON.stringify(load.refused())}; ${JSON.stringify(await fixture.outcomes())}; ${JSON.stringify(figures)}`,
  );
  assert.deepEqual(fixture.casualties(), []);
});

/** Takes the switch over as somebody who knows its password, and goes again. */
async function takeOver(fixture: CallDrillFixture): Promise<void> {
  const { ari_user, ari_password, app, ports } = fixture.asterisk();
  const socket = new WebSocket(`ws://127.0.0.1:${ports.http}/ari/events?app=${app}`, {
    headers: { authorization: `Basic ${btoa(`${ari_user}:${ari_password}`)}` },
  });
  await once(socket, "open");
  socket.close();
  await once(socket, "close");
}

test("calls go on while the way to the switch is cut again and again, or somebody takes it over", async (t) => {
  const random = seededRandom(seedOf());
  let line: InterruptibleProxy | null = null;
  t.after(() => line?.close());
  await using fixture = await openCallDrillFixture({
    ari_port: async (real) => (line = await openInterruptibleProxy(real)).port,
  });
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await fixture.awaitLeader(workers);
  const load = startCallLoad(fixture, 8, random);
  const cuts = 6;
  for (let cut = 0; cut < cuts; cut++) {
    await pause(200 + random() * 800);
    line!.cut();
    await pause(random() * 200);
    line!.mend();
  }
  const fence = async () => {
    const rows = await fixture.ask<{ fence: number }>(
      `select l.fence::int from leases l, voice_nodes n
       where l.name = 'voice_node:' || n.id and n.connected_at is not null`,
    );
    return rows[0]?.fence ?? 0;
  };
  let held = 0;
  await eventually(async () => (held = await fence()) > 0);
  const began = performance.now();
  await takeOver(fixture);
  await eventually(async () => (await fence()) > held);
  await talksAfter(fixture);
  const healed_ms = Math.round(performance.now() - began);
  await load.stop();
  await fixture.awaitEnds();
  const outcomes = await fixture.outcomes();
  const figures = await fixture.checkCalls();
  console.log(
    `${cuts} cuts; talking again ${healed_ms} ms after a take-over; ${load.taken()} taken, others answered ` +
      `${JSON.stringify(load.refused())}; ${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  // A dial whose answer was cut off may have been refused unheard; no talk is lost.
  assert.equal(await fixture.count("ended_reason = 'node_lost' and answered_at is not null"), 0);
  assert.deepEqual(fixture.casualties(), []);
});
