import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { eventually } from "../support/eventually.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { seededRandom } from "../support/provider-stub/faults.ts";
import { signalPostgres } from "../support/signal-postgres.ts";
import { startCallLoad } from "./call-load.ts";
import { openCallDrillFixture, type CallDrillFixture } from "./call-drill-fixture.ts";

async function talking(fixture: CallDrillFixture): Promise<number[]> {
  await eventually(async () => (await fixture.count("stage = 'talking'")) > 0);
  const rows = await fixture.ask<{ id: number }>(
    "select id::int from calls where stage = 'talking'",
  );
  return rows.map(({ id }) => id);
}

test("calls outlive restarts and a freeze of PostgreSQL: they go on, end once, and nothing acknowledged is lost", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  const dataDir = scratchFolder("trunkline-call-drill-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await migrate(postgres.url);
  {
    await using fixture = await openCallDrillFixture({ database_url: postgres.url });
    const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
    // One that was starting while the database is away would give up, as it is to.
    await fixture.awaitWorking(workers);
    await fixture.awaitLeader(workers);
    const load = startCallLoad(fixture, 6, seededRandom(seed));
    const talks = new Set<number>();
    const healed_ms: number[] = [];
    const heals = async () => {
      const began = performance.now();
      const [now] = await fixture.ask<{ at: Date }>("select clock_timestamp() as at");
      await eventually(async () => (await fixture.count("initiated_at > $1", [now!.at])) > 3);
      healed_ms.push(Math.round(performance.now() - began));
    };
    for (let restart = 0; restart < 2; restart++) {
      for (const id of await talking(fixture)) talks.add(id);
      await postgres.stop();
      postgres = await start();
      await heals();
    }
    for (const id of await talking(fixture)) talks.add(id);
    signalPostgres(postgres.pid, "SIGSTOP");
    // Past the lease.
    await pause(4_000);
    signalPostgres(postgres.pid, "SIGCONT");
    await heals();
    await load.stop();
    await fixture.awaitEnds();
    const outcomes = await fixture.outcomes();
    const figures = await fixture.checkCalls();
    const kept = await fixture.count(
      "id = any ($1) and ended_reason = 'hung_up' and status = 'completed'",
      [[...talks]],
    );
    console.log(
      `2 restarts and a freeze, placing again after ${healed_ms.join(", ")} ms; ${load.taken()} taken, others ` +
        `answered ${JSON.stringify(load.refused())}; ${kept} of ${talks.size} talks under way ended by their ` +
        `parties; ${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
    );
    assert.equal(kept, talks.size);
    const first = await fixture.count("attempt = 1");
    assert.ok(first >= load.taken(), `${load.taken()} were acknowledged, ${first} are there`);
    assert.deepEqual(
      Object.keys(outcomes).filter((how) => how.includes("node_lost")),
      [],
    );
    assert.deepEqual(fixture.casualties(), []);
  }
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});
