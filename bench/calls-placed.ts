// Measures the time from a click-to-call's request at our server to the POST of the agent's leg to the
// switch, with everything durable in between. Requests come at scheduled times (open loop), with API and
// worker in one process and in two; a stub of the switch carries each call to its end at almost no cost.
// `npm --prefix bench run calls-placed`; `-- --smoke` for a small run.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { migrate } from "../server/lib/database/migrate.ts";
import { openCallSubmitter } from "./calls/submit-calls.ts";
import { openFixture, type Fixture } from "./calls/fixture.ts";
import { submitOpenLoop } from "./calls-placed/submit-open-loop.ts";
import { reportPlaced, type Placed, type Run } from "./calls-placed/report.ts";
import { startChild, type Child } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rounds: 1, warm_seconds: 0, seconds: 0.5, rates: [100] }
  : { rounds: 5, warm_seconds: 3, seconds: 10, rates: [50, 100] };

type Setup = {
  readonly fixture: Fixture;
  readonly stub: Child;
  readonly database_url: string;
  readonly database_pid: number;
};

/** The number of customers called so far; none is called twice. */
let customers = 0;

await runBench("calls-placed", smoke, async (bench) => {
  const setup = await setUp(bench);
  const runs: Run[] = [];
  for (let round = 1; round <= size.rounds; round++) {
    for (const processes of round % 2 ? ([1, 2] as const) : ([2, 1] as const)) {
      runs.push(...(await runService(setup, processes)));
    }
  }
  await setup.fixture.checkInvariants();
  return reportPlaced(runs, size, bench.machine);
});

async function setUp({ postgres, defer }: Bench): Promise<Setup> {
  await migrate(postgres.url);
  const stub = await startChild(join(import.meta.dirname, "calls-placed/switch-stub.ts"), {});
  defer(() => stub.stop());
  const { port } = await stub.request({});
  const fixture = await openFixture(postgres.url, {
    ari_url: `http://127.0.0.1:${port}/ari`,
    ari_user: "trunkline",
    ari_password: "secret",
    ari_app: "trunkline",
  });
  defer(() => fixture.close());
  await fixture.record(false);
  return { fixture, stub, database_url: postgres.url, database_pid: postgres.pid };
}

/** Measures each rate once, with new processes. */
async function runService(setup: Setup, processes: 1 | 2): Promise<Run[]> {
  const { fixture, database_url } = setup;
  const script = join(import.meta.dirname, "calls/service.ts");
  const roles = processes === 1 ? ["api,worker"] : ["api", "worker"];
  await fixture.activate(10_000);
  const ours = await Promise.all(
    roles.map((names) => startChild(script, { DATABASE_URL: database_url, ROLES: names })),
  );
  const submitter = openCallSubmitter((await ours[0]!.request({}))["port"]!, fixture.token);
  try {
    await fixture.awaitConnected();
    const runs: Run[] = [];
    const warm = size.rates.at(-1)! * size.warm_seconds;
    if (warm > 0) await place(setup, ours, submitter, size.rates.at(-1)!, warm);
    for (const per_second of size.rates) {
      await fixture.checkpoint();
      const calls = await place(setup, ours, submitter, per_second, per_second * size.seconds);
      runs.push({ processes, per_second, ...calls });
      console.log(`${processes} process(es), ${per_second}/s: ${calls.placed.length} placed`);
    }
    return runs;
  } finally {
    await submitter.close();
    // A graceful stop, which releases the lease.
    await Promise.all(ours.map((child) => child.end()));
  }
}

/** Places `count` calls and waits until all have ended. */
async function place(
  { fixture, stub, database_pid }: Setup,
  ours: readonly Child[],
  submitter: ReturnType<typeof openCallSubmitter>,
  per_second: number,
  count: number,
): Promise<Pick<Run, "placed" | "cpu_ms">> {
  const pids = { ours: ours.map(({ pid }) => pid), database: [database_pid] };
  const used = (name: keyof typeof pids) =>
    pids[name].reduce((sum, pid) => sum + cpuOfTree_seconds(pid), 0);
  const before = { ours: used("ours"), database: used("database") };
  const first = customers;
  customers += count;
  const submitted = await submitOpenLoop(submitter, { first, count, per_second });
  while ((await fixture.countLive()) > 0) await wait(50);
  await fixture.checkCompleted(customers);
  const cost = (name: keyof typeof pids) => ((used(name) - before[name]) * 1_000) / count;
  const calls = await fixture.callsOf(submitted.map(({ campaign_id }) => campaign_id));
  const all = await Promise.all([...ours, stub].map((child) => child.request({ times: 1 })));
  const times = new Map(all.flatMap((recorded) => Object.entries(recorded)));
  const placed = submitted.map((request): Placed => {
    const call = calls.get(request.campaign_id);
    const at = (name: string) => {
      const found = times.get(name);
      if (found === undefined) throw new Error(`no process recorded: ${name}`);
      return found;
    };
    const received_ms = at(`received ${request.i}`);
    return {
      posted_ms: at(`posted ${call}`) - received_ms,
      answered_ms: request.answered_ms - received_ms,
      arrived_ms: at(`arrived ${call}`) - request.scheduled_ms,
    };
  });
  return { placed, cpu_ms: { ours: cost("ours"), database: cost("database") } };
}
