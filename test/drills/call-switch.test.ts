import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { WebSocket } from "ws";
import { openCutLine, type CutLine } from "../support/cut-line.ts";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/faults.ts";
import { customer, startCallLoad } from "./call-load.ts";
import { openCallHouse, type CallHouse } from "./call-house.ts";

const seedOf = (): number => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  return seed;
};

/** How long it takes until a call that is submitted now talks. */
async function talksAfter(house: CallHouse): Promise<number> {
  const began = performance.now();
  const number = customer("hangs_up", 1);
  assert.equal(await house.call("answers", number), 200);
  await eventually(
    async () => (await house.count("to_number = $1 and answered_at is not null", [number])) > 0,
  );
  return Math.round(performance.now() - began);
}

test("calls of an Asterisk that dies end as lost, once; it works again after its return", async () => {
  const random = seededRandom(seedOf());
  await using house = await openCallHouse();
  const workers = await Promise.all([house.startWorker(), house.startWorker()]);
  await house.awaitLeader(workers);
  const load = startCallLoad(house, 8, random);
  // These stay; what hangs up in the last instant may be on its way to us.
  const staying = ["answers", "answers", "answers"].map(() => customer("stays"));
  for (const number of staying) assert.equal(await house.call("answers", number), 200);
  const stay = () => house.count("stage = 'talking' and to_number = any ($1)", [staying]);
  await eventually(async () => (await stay()) === staying.length);
  await house.asterisk().kill();
  const talks = await house.ask<{ id: number }>(
    "select id::int from calls where stage = 'talking'",
  );
  const [now] = await house.ask<{ at: Date }>("select clock_timestamp() as at");
  await pause(1_000 + random() * 1_000);
  await house.startSwitch();
  const submitted = await house.ask<{ id: number }>(
    "select id::int from calls where queued_at > $1 and attempt = 1",
    [now!.at],
  );
  const healed_ms = await talksAfter(house);
  const ids = talks.map(({ id }) => id);
  await eventually(
    async () => (await house.count("id = any ($1) and stage <> 'ended'", [ids])) === 0,
  );
  const isLost = "to_number = any ($1) and ended_reason = 'node_lost'";
  assert.equal(await house.count(isLost, [staying]), staying.length);
  const waiting = submitted.map(({ id }) => id);
  const isPlaced = "id = any ($1) and exists (select from call_legs l where l.call_id = c.id)";
  await eventually(async () => (await house.count(isPlaced, [waiting])) === waiting.length);
  assert.equal(
    await house.count("id = any ($1) and ended_reason = 'node_lost'", [waiting]),
    0,
    "what was submitted meanwhile is placed after",
  );
  await load.stop();
  await house.awaitEnds();
  const figures = await house.checkCalls();
  console.log(
    `A death under ${ids.length} talks; ${waiting.length} submitted meanwhile and placed after; a new call ` +
      `talks ${healed_ms} ms after the return; ${load.taken()} taken, others answered ` +
      `${JSON.stringify(load.refused())}; ${JSON.stringify(await house.outcomes())}; ${JSON.stringify(figures)}`,
  );
  assert.deepEqual(house.casualties(), []);
});

/** Takes the switch over as somebody who knows its password, and goes again. */
async function takeOver(house: CallHouse): Promise<void> {
  const { ari_user, ari_password, app, ports } = house.asterisk();
  const socket = new WebSocket(`ws://127.0.0.1:${ports.http}/ari/events?app=${app}`, {
    headers: { authorization: `Basic ${btoa(`${ari_user}:${ari_password}`)}` },
  });
  await once(socket, "open");
  socket.close();
  await once(socket, "close");
}

test("calls go on while the way to the switch is cut again and again, or somebody takes it over", async (t) => {
  const random = seededRandom(seedOf());
  let line: CutLine | null = null;
  t.after(() => line?.close());
  await using house = await openCallHouse({
    ari_port: async (real) => (line = await openCutLine(real)).port,
  });
  const workers = await Promise.all([house.startWorker(), house.startWorker()]);
  await house.awaitLeader(workers);
  const load = startCallLoad(house, 8, random);
  const cuts = 6;
  for (let cut = 0; cut < cuts; cut++) {
    await pause(200 + random() * 800);
    line!.cut();
    await pause(random() * 200);
    line!.mend();
  }
  const fence = async () => {
    const rows = await house.ask<{ fence: number }>(
      `select l.fence::int from leases l, voice_nodes n
       where l.name = 'voice_node:' || n.id and n.connected_at is not null`,
    );
    return rows[0]?.fence ?? 0;
  };
  let held = 0;
  await eventually(async () => (held = await fence()) > 0);
  const began = performance.now();
  await takeOver(house);
  await eventually(async () => (await fence()) > held);
  await talksAfter(house);
  const healed_ms = Math.round(performance.now() - began);
  await load.stop();
  await house.awaitEnds();
  const outcomes = await house.outcomes();
  const figures = await house.checkCalls();
  console.log(
    `${cuts} cuts; talking again ${healed_ms} ms after a take-over; ${load.taken()} taken, others answered ` +
      `${JSON.stringify(load.refused())}; ${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  // A dial whose answer was cut off may have been refused unheard; no talk is lost.
  assert.equal(await house.count("ended_reason = 'node_lost' and answered_at is not null"), 0);
  assert.deepEqual(house.casualties(), []);
});
