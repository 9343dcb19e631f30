import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/faults.ts";
import { openCallHouse, type Worker } from "./call-house.ts";
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
  await using house = await openCallHouse();
  const workers: Worker[] = await Promise.all([house.startWorker(), house.startWorker()]);
  await house.awaitLeader(workers);
  const load = startCallLoad(house, 10, random);
  await eventually(async () => (await house.count("stage = 'talking'")) > 0);
  const talking = new Set<number>();
  const healed_ms: number[] = [];
  for (const moment of Object.values(moments)) {
    await house.awaitLeader(workers);
    await pause(random() * 500);
    await house.catchMoment(moment);
    // On a busy machine it may be another one by now.
    const leader = await house.awaitLeader(workers);
    leader.kill("SIGKILL");
    const killed_ms = performance.now();
    const calls = await house.ask<{ id: number }>(
      "select id::int from calls where stage = 'talking'",
    );
    for (const { id } of calls) talking.add(id);
    workers[workers.indexOf(leader)] = await house.startWorker();
    await leader.dispose();
    await house.awaitLeader(workers);
    healed_ms.push(Math.round(performance.now() - killed_ms));
  }
  await load.stop();
  await house.awaitEnds();
  const outcomes = await house.outcomes();
  const figures = await house.checkCalls();
  const [kept] = await house.ask<{ count: number }>(
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
  assert.deepEqual(house.casualties(), []);
});
