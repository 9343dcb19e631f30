import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/injected-errors.ts";
import { openCallDrillFixture, type Worker } from "./call-drill-fixture.ts";
import { startCallLoad } from "./call-load.ts";

/** The moments at which a leader is killed: as soon as a call reaches them. */
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

test("calls survive leaders killed at any moment: each ends once, rings once and is billed correctly", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  const random = seededRandom(seed);
  await using fixture = await openCallDrillFixture();
  const workers: Worker[] = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await fixture.awaitLeader(workers);
  const load = startCallLoad(fixture, 10, random);
  await eventually(async () => (await fixture.count("stage = 'talking'")) > 0);
  const bridged = new Set<number>();
  const recovery_ms: number[] = [];
  for (const moment of Object.values(moments)) {
    await fixture.awaitLeader(workers);
    await pause(random() * 500);
    await fixture.awaitCall(moment);
    // On a busy machine the leader may have changed in the meantime.
    const leader = await fixture.awaitLeader(workers);
    leader.kill("SIGKILL");
    const killed_ms = performance.now();
    const calls = await fixture.query<{ id: number }>(
      "select id::int from calls where stage = 'talking'",
    );
    for (const { id } of calls) bridged.add(id);
    workers[workers.indexOf(leader)] = await fixture.startWorker();
    await leader.dispose();
    await fixture.awaitLeader(workers);
    recovery_ms.push(Math.round(performance.now() - killed_ms));
  }
  await load.stop();
  await fixture.awaitAllEnded();
  const outcomes = await fixture.outcomes();
  const figures = await fixture.checkCalls();
  const [completed] = await fixture.query<{ count: number }>(
    `select count(*)::int from calls where id = any ($1) and ended_reason = 'hung_up' and status = 'completed'`,
    [[...bridged]],
  );
  console.log(
    `killed at ${Object.keys(moments).join(", ")}; new leader after ${recovery_ms.join(", ")} ms; ` +
      `${load.accepted()} accepted, other statuses ${JSON.stringify(load.refused())}; ` +
      `${completed!.count} of ${bridged.size} bridged calls ended by a party; ` +
      `${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
  );
  assert.equal(completed!.count, bridged.size, "bridged calls continue without a leader");
  assert.deepEqual(
    Object.keys(outcomes).filter((how) => /node_lost|lost/.test(how)),
    [],
  );
  assert.deepEqual(fixture.crashes(), []);
});
