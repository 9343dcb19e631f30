import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/faults.ts";
import { openCallDrillFixture, type CallDrillFixture, type Worker } from "./call-drill-fixture.ts";
import { startCallLoad } from "./call-load.ts";

/** Waits until so many more calls were placed. */
async function moves(fixture: CallDrillFixture, more: number): Promise<void> {
  const placed = () => fixture.count("initiated_at is not null");
  const goal = (await placed()) + more;
  await eventually(async () => (await placed()) >= goal);
}

const lease = async (fixture: CallDrillFixture) => {
  const [row] = await fixture.ask<{ fence: number; is_held: boolean }>(
    `select fence::int, holder is not null as is_held from leases where name = 'voice_node:' || $1`,
    [fixture.node_id],
  );
  return row!;
};

/** Two customers are about to be called, of whom one waits for its turn. */
const two_to_dial = `stage = 'customer' and (
  select count(*) from call_legs l where l.role = 'customer' and l.state = 'dialing') > 1`;

/** The longest time in which no call was placed, of those under load. */
async function longestGap(fixture: CallDrillFixture): Promise<number> {
  const [row] = await fixture.ask<{ gap: number }>(
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
  await using fixture = await openCallDrillFixture({ env: { LEASE_SECONDS: "10" } });
  const load = startCallLoad(fixture, 6, seededRandom(seed));
  await eventually(() => load.taken() > 5);
  const workers: Worker[] = await Promise.all([
    fixture.startWorker(),
    fixture.startWorker(),
    fixture.startWorker(),
  ]);
  const talking = new Set<number>();
  const stops = 3;
  for (let stop = 0; stop < stops; stop++) {
    await moves(fixture, 12);
    const leader = await fixture.awaitLeader(workers);
    await eventually(() => workers.filter((worker) => fixture.findLeader([worker])).length === 1);
    await eventually(async () => (await fixture.count("stage = 'talking'")) > 0);
    const calls = await fixture.ask<{ id: number }>(
      "select id::int from calls where stage = 'talking'",
    );
    for (const { id } of calls) talking.add(id);
    const { fence: held } = await lease(fixture);
    leader.kill("SIGTERM");
    assert.equal(await leader.ended(), 0, leader.output());
    // Handed over, not run out.
    const { fence, is_held } = await lease(fixture);
    assert.ok(fence > held || !is_held, "the lease is given back");
    workers[workers.indexOf(leader)] = await fixture.startWorker();
    await fixture.awaitLeader(workers);
    assert.ok((await lease(fixture)).fence > held);
  }
  await moves(fixture, 10);
  await load.stop();
  const gap_ms = await longestGap(fixture);
  await fixture.awaitEnds();
  const outcomes = await fixture.outcomes();
  const figures = await fixture.checkCalls();
  const kept = await fixture.count(
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
  assert.deepEqual(fixture.casualties(), []);
});

test("a leader frozen past its lease and thawed writes, dials and silences nothing", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  // So slow that legs wait for their turn: thawed, the leader has them at hand.
  await using fixture = await openCallDrillFixture({ legs_per_second: 8 });
  const workers: Worker[] = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await fixture.awaitLeader(workers);
  const load = startCallLoad(fixture, 6, seededRandom(seed));
  await moves(fixture, 12);
  const frozen = await fixture.awaitLeader(workers);
  const others = workers.filter((worker) => worker !== frozen);
  const { fence: held } = await lease(fixture);
  await fixture.catchMoment(two_to_dial);
  frozen.kill("SIGSTOP");
  await eventually(async () => (await lease(fixture)).fence > held);
  await fixture.awaitLeader(others);
  await moves(fixture, 10);
  frozen.kill("SIGCONT");
  await eventually(() => !fixture.findLeader([frozen]));
  await moves(fixture, 15);
  // Whoever led meanwhile may have lost the lease to a busy machine, never the switch to the thawed one.
  for (const other of others)
    assert.ok(!other.output().includes("took a node's switch over"), "it silences nobody");
  await eventually(async () => {
    const [node] = await fixture.ask("select from voice_nodes where connected_at is not null");
    return node !== undefined;
  });
  await load.stop();
  await fixture.awaitEnds();
  const outcomes = await fixture.outcomes();
  const figures = await fixture.checkCalls();
  console.log(
    `A freeze; ${load.taken()} taken, others answered ${JSON.stringify(load.refused())}; ` +
      `${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  assert.deepEqual(
    Object.keys(outcomes).filter((how) => how.includes("node_lost")),
    [],
  );
  assert.deepEqual(fixture.casualties(), []);
});
