import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/faults.ts";
import { openCallDrillFixture, type Worker } from "./call-drill-fixture.ts";
import { startCallLoad } from "./call-load.ts";

/** The moments at which a leader is killed: as soon as a call is there. */
const moments = {
  claimed: "stage = 'agent' and initiated_at is null",
  agent_rings: `stage = 'agent' and exists (select from call_legs l where l.call_id = c.id and l.state = 'ringing')`,
  agent_answered: `stage = 'customer' and exists (select from call_legs l
    where l.call_id = c.id and l.role = 'customer' and l.state = 'dialing')`,
  customer_rings: `stage = 'customer' and exists (select from call_legs l
    where l.call_id = c.id and l.role = 'customer' and l.state = 'ringing')`,
  bridged: "stage = 'talking'",
  ending: "stage = 'ending'",
} as const;

test("calls outlive leaders killed at any moment: each ends once, is rung once and is billed right", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  const random = seededRandom(seed);
  await using fixture = await openCallDrillFixture();
  const workers: Worker[] = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await fixture.awaitLeader(workers);
  const load = startCallLoad(fixture, 10, random);
  await eventually(async () => (await fixture.count("stage = 'talking'")) > 0);
  const talking = new Set<number>();
  const healed_ms: number[] = [];
  for (const moment of Object.values(moments)) {
    await fixture.awaitLeader(workers);
    await pause(random() * 500);
    await fixture.catchMoment(moment);
    // On a busy machine it may be another one by now.
    const leader = await fixture.awaitLeader(workers);
    leader.kill("SIGKILL");
    const killed_ms = performance.now();
    const calls = await fixture.ask<{ id: number }>(
      "select id::int from calls where stage = 'talking'",
    );
    for (const { id } of calls) talking.add(id);
    workers[workers.indexOf(leader)] = await fixture.startWorker();
    await leader.dispose();
    await fixture.awaitLeader(workers);
    healed_ms.push(Math.round(performance.now() - killed_ms));
  }
  await load.stop();
  await fixture.awaitEnds();
  const outcomes = await fixture.outcomes();
  const figures = await fixture.checkCalls();
  const [kept] = await fixture.ask<{ count: number }>(
    `select count(*)::int from calls where id = any ($1) and ended_reason = 'hung_up' and status = 'completed'`,
    [[...talking]],
  );
  console.log(
    `killed at ${Object.keys(moments).join(", ")}; led again after ${healed_ms.join(", ")} ms; ` +
      `${load.taken()} taken, others answered ${JSON.stringify(load.refused())}; ` +
      `${kept!.count} of ${talking.size} talks under way ended by their parties; ` +
      `${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  assert.equal(kept!.count, talking.size, "talks go on while nobody leads");
  assert.deepEqual(
    Object.keys(outcomes).filter((how) => /node_lost|lost/.test(how)),
    [],
  );
  assert.deepEqual(fixture.casualties(), []);
});
