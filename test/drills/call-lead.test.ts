import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/faults.ts";
import { openCallHouse, type CallHouse, type Worker } from "./call-house.ts";
import { startCallLoad } from "./call-load.ts";

/** Waits until so many more calls were placed. */
async function moves(house: CallHouse, more: number): Promise<void> {
  const placed = () => house.count("initiated_at is not null");
  const goal = (await placed()) + more;
  await eventually(async () => (await placed()) >= goal);
}

const lease = async (house: CallHouse) => {
  const [row] = await house.ask<{ fence: number; is_held: boolean }>(
    `select fence::int, holder is not null as is_held from leases where name = 'voice_node:' || $1`,
    [house.node_id],
  );
  return row!;
};

/** Two customers are about to be called, of whom one waits for its turn. */
const two_to_dial = `stage = 'customer' and (
  select count(*) from call_legs l where l.role = 'customer' and l.state = 'dialing') > 1`;

/** The longest time in which no call was placed, of those under load. */
async function longestGap(house: CallHouse): Promise<number> {
  const [row] = await house.ask<{ gap: number }>(
    `select max(gap)::int as gap from (
       select extract(epoch from initiated_at - lag(initiated_at) over (order by initiated_at)) * 1000 as gap
       from calls where initiated_at is not null) g`,
  );
  return row!.gap;
}

test("of processes that contend for a node one dials; told to stop it hands over, and no call ends of it", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  // Leases as in operation: what is given back is not waited for.
  await using house = await openCallHouse({ env: { LEASE_SECONDS: "10" } });
  const load = startCallLoad(house, 6, seededRandom(seed));
  await eventually(() => load.taken() > 5);
  const workers: Worker[] = await Promise.all([
    house.startWorker(),
    house.startWorker(),
    house.startWorker(),
  ]);
  const talking = new Set<number>();
  const stops = 3;
  for (let stop = 0; stop < stops; stop++) {
    await moves(house, 12);
    const leader = await house.awaitLeader(workers);
    await eventually(() => workers.filter((worker) => house.findLeader([worker])).length === 1);
    await eventually(async () => (await house.count("stage = 'talking'")) > 0);
    const calls = await house.ask<{ id: number }>(
      "select id::int from calls where stage = 'talking'",
    );
    for (const { id } of calls) talking.add(id);
    const { fence: held } = await lease(house);
    leader.kill("SIGTERM");
    assert.equal(await leader.ended(), 0, leader.output());
    // Handed over, not run out.
    const { fence, is_held } = await lease(house);
    assert.ok(fence > held || !is_held, "the lease is given back");
    workers[workers.indexOf(leader)] = await house.startWorker();
    await house.awaitLeader(workers);
    assert.ok((await lease(house)).fence > held);
  }
  await moves(house, 10);
  await load.stop();
  const gap_ms = await longestGap(house);
  await house.awaitEnds();
  const outcomes = await house.outcomes();
  const figures = await house.checkCalls();
  const kept = await house.count(
    "id = any ($1) and ended_reason = 'hung_up' and status = 'completed'",
    [[...talking]],
  );
  console.log(
    `${stops} stops, longest time without a new call ${gap_ms} ms; ${load.taken()} taken, others answered ` +
      `${JSON.stringify(load.refused())}; ${kept} of ${talking.size} talks under way ended by their parties; ` +
      `${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  assert.equal(kept, talking.size);
  assert.deepEqual(
    Object.keys(outcomes).filter((how) => how.includes("node_lost")),
    [],
  );
  assert.deepEqual(house.casualties(), []);
});

test("a leader frozen past its lease and thawed writes, dials and silences nothing", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  // So slow that legs wait for their turn: thawed, the leader has them at hand.
  await using house = await openCallHouse({ legs_per_second: 8 });
  const workers: Worker[] = await Promise.all([house.startWorker(), house.startWorker()]);
  await house.awaitLeader(workers);
  const load = startCallLoad(house, 6, seededRandom(seed));
  await moves(house, 12);
  const frozen = await house.awaitLeader(workers);
  const others = workers.filter((worker) => worker !== frozen);
  const { fence: held } = await lease(house);
  await house.catchMoment(two_to_dial);
  frozen.kill("SIGSTOP");
  await eventually(async () => (await lease(house)).fence > held);
  await house.awaitLeader(others);
  await moves(house, 10);
  frozen.kill("SIGCONT");
  await eventually(() => !house.findLeader([frozen]));
  await moves(house, 15);
  // Whoever led meanwhile may have lost the lease to a busy machine, never the switch to the thawed one.
  for (const other of others)
    assert.ok(!other.output().includes("took a node's switch over"), "it silences nobody");
  await eventually(async () => {
    const [node] = await house.ask("select from voice_nodes where connected_at is not null");
    return node !== undefined;
  });
  await load.stop();
  await house.awaitEnds();
  const outcomes = await house.outcomes();
  const figures = await house.checkCalls();
  console.log(
    `A freeze; ${load.taken()} taken, others answered ${JSON.stringify(load.refused())}; ` +
      `${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  assert.deepEqual(
    Object.keys(outcomes).filter((how) => how.includes("node_lost")),
    [],
  );
  assert.deepEqual(house.casualties(), []);
});
