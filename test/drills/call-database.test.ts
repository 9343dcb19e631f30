import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { eventually } from "../support/eventually.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { seededRandom } from "../support/provider-stub/injected-errors.ts";
import { signalPostgres } from "../support/signal-postgres.ts";
import { startCallLoad } from "./call-load.ts";
import { openCallDrillFixture, type CallDrillFixture } from "./call-drill-fixture.ts";

async function bridgedCalls(fixture: CallDrillFixture): Promise<number[]> {
  await eventually(async () => (await fixture.count("stage = 'talking'")) > 0);
  const rows = await fixture.query<{ id: number }>(
    "select id::int from calls where stage = 'talking'",
  );
  return rows.map(({ id }) => id);
}

test("calls survive restarts and a freeze of PostgreSQL: they continue, end once, and no acknowledged call is lost", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  const dataDir = scratchFolder("trunkline-call-drill-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await migrate(postgres.url);
  {
    await using fixture = await openCallDrillFixture({ database_url: postgres.url });
    const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
    // A worker that starts while the database is unavailable would exit, by design.
    await fixture.awaitWorking(workers);
    await fixture.awaitLeader(workers);
    const load = startCallLoad(fixture, 6, seededRandom(seed));
    const bridged = new Set<number>();
    const recovery_ms: number[] = [];
    const awaitRecovery = async () => {
      const began = performance.now();
      const [now] = await fixture.query<{ at: Date }>("select clock_timestamp() as at");
      await eventually(async () => (await fixture.count("initiated_at > $1", [now!.at])) > 3);
      recovery_ms.push(Math.round(performance.now() - began));
    };
    for (let restart = 0; restart < 2; restart++) {
      for (const id of await bridgedCalls(fixture)) bridged.add(id);
      await postgres.stop();
      postgres = await start();
      await awaitRecovery();
    }
    for (const id of await bridgedCalls(fixture)) bridged.add(id);
    signalPostgres(postgres.pid, "SIGSTOP");
    // Longer than the lease.
    await pause(4_000);
    signalPostgres(postgres.pid, "SIGCONT");
    await awaitRecovery();
    await load.stop();
    await fixture.awaitAllEnded();
    const outcomes = await fixture.outcomes();
    const figures = await fixture.checkCalls();
    const completed = await fixture.count(
      "id = any ($1) and ended_reason = 'hung_up' and status = 'completed'",
      [[...bridged]],
    );
    console.log(
      `2 restarts and a freeze, placed calls again after ${recovery_ms.join(", ")} ms; ${load.accepted()} accepted, other ` +
        `statuses ${JSON.stringify(load.refused())}; ${completed} of ${bridged.size} bridged calls ended by a ` +
        `party; ${JSON.stringify(outcomes)}; ${JSON.stringify(figures)}`,
    );
    assert.equal(completed, bridged.size);
    const first = await fixture.count("attempt = 1");
    assert.ok(
      first >= load.accepted(),
      `${load.accepted()} calls were acknowledged, ${first} are stored`,
    );
    assert.deepEqual(
      Object.keys(outcomes).filter((how) => how.includes("node_lost")),
      [],
    );
    assert.deepEqual(fixture.crashes(), []);
  }
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});
