import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/injected-errors.ts";
import { openCallDrillFixture, type CallDrillFixture, type Worker } from "./call-drill-fixture.ts";
import { startCallLoad } from "./call-load.ts";

/** Waits until `more` further calls were placed. */
async function awaitPlaced(fixture: CallDrillFixture, more: number): Promise<void> {
  const placed = () => fixture.count("initiated_at is not null");
  const goal = (await placed()) + more;
  await eventually(async () => (await placed()) >= goal);
}

const lease = async (fixture: CallDrillFixture) => {
  const [row] = await fixture.query<{ fence: number; is_held: boolean }>(
    `select fence::float8 as fence, holder is not null as is_held from leases where name = 'voice_node:' || $1`,
    [fixture.node_id],
  );
  return row!;
};

/** Two customer legs are to be dialed, and pacing delays one of them. */
const two_to_dial = `stage = 'customer' and (
  select count(*) from call_legs l where l.role = 'customer' and l.state = 'dialing') > 1`;

/** Returns the longest pause between two placed calls, in milliseconds. */
async function longestGap(fixture: CallDrillFixture): Promise<number> {
  const [row] = await fixture.query<{ gap: number }>(
    `select max(gap)::int as gap from (
       select extract(epoch from initiated_at - lag(initiated_at) over (order by initiated_at)) * 1000 as gap
       from calls where initiated_at is not null) g`,
  );
  return row!.gap;
}

test("only one of several processes dials for a node; on SIGTERM it hands over, and no call ends because of that", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  // So long that a busy machine renews it: a released lease is not waited for.
  await using fixture = await openCallDrillFixture({ env: { LEASE_SECONDS: "30" } });
  const load = startCallLoad(fixture, 6, seededRandom(seed));
  await eventually(() => load.accepted() > 5);
  const workers: Worker[] = await Promise.all([
    fixture.startWorker(),
    fixture.startWorker(),
    fixture.startWorker(),
  ]);
  const bridged = new Set<number>();
  const stops = 3;
  for (let stop = 0; stop < stops; stop++) {
    await awaitPlaced(fixture, 12);
    const leader = await fixture.awaitLeader(workers);
    await eventually(() => workers.filter((worker) => fixture.findLeader([worker])).length === 1);
    await eventually(async () => (await fixture.count("stage = 'talking'")) > 0);
    const calls = await fixture.query<{ id: number }>(
      "select id::int from calls where stage = 'talking'",
    );
    for (const { id } of calls) bridged.add(id);
    const { fence: held } = await lease(fixture);
    leader.kill("SIGTERM");
    assert.equal(await leader.ended(), 0, `it stops in time: ${leader.output()}`);
    // Released, not expired.
    const { fence, is_held } = await lease(fixture);
    assert.ok(fence > held || !is_held, "the lease is released");
    workers[workers.indexOf(leader)] = await fixture.startWorker();
    await fixture.awaitLeader(workers);
    assert.ok((await lease(fixture)).fence > held);
  }
  await awaitPlaced(fixture, 10);
  await load.stop();
  const gap_ms = await longestGap(fixture);
  await fixture.awaitAllEnded();
  const outcomes = await fixture.outcomes();
  const figures = await fixture.checkCalls();
  const completed = await fixture.count(
    "id = any ($1) and ended_reason = 'hung_up' and status = 'completed'",
    [[...bridged]],
  );
  console.log(
    `${stops} stops, longest pause between calls ${gap_ms} ms; ${load.accepted()} accepted, other statuses ` +
      `${JSON.stringify(load.refused())}; ${completed} of ${bridged.size} bridged calls ended by a party; ` +
      `${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  assert.equal(completed, bridged.size);
  assert.deepEqual(
    Object.keys(outcomes).filter((how) => how.includes("node_lost")),
    [],
  );
  assert.deepEqual(fixture.crashes(), []);
});

test("a leader that is frozen past its lease and resumed writes nothing, dials nothing and takes no switch over", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  // So slow that legs wait: the resumed leader still holds them in memory.
  await using fixture = await openCallDrillFixture({ legs_per_second: 8 });
  const workers: Worker[] = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await fixture.awaitLeader(workers);
  const load = startCallLoad(fixture, 6, seededRandom(seed));
  await awaitPlaced(fixture, 12);
  const frozen = await fixture.awaitLeader(workers);
  const others = workers.filter((worker) => worker !== frozen);
  const { fence: held } = await lease(fixture);
  await fixture.awaitCall(two_to_dial);
  frozen.kill("SIGSTOP");
  await eventually(async () => (await lease(fixture)).fence > held);
  await fixture.awaitLeader(others);
  await awaitPlaced(fixture, 10);
  frozen.kill("SIGCONT");
  await eventually(() => !fixture.findLeader([frozen]));
  await awaitPlaced(fixture, 15);
  // On a busy machine the new leader may have lost its lease, but never its switch to the resumed process.
  for (const other of others)
    assert.ok(
      !other.output().includes("has taken over a node's switch"),
      "it takes over no switch",
    );
  await eventually(async () => {
    const [node] = await fixture.query("select from voice_nodes where connected_at is not null");
    return node !== undefined;
  });
  await load.stop();
  await fixture.awaitAllEnded();
  const outcomes = await fixture.outcomes();
  const figures = await fixture.checkCalls();
  console.log(
    `one freeze; ${load.accepted()} accepted, other statuses ${JSON.stringify(load.refused())}; ` +
      `${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  assert.deepEqual(
    Object.keys(outcomes).filter((how) => how.includes("node_lost")),
    [],
  );
  assert.deepEqual(fixture.crashes(), []);
});
