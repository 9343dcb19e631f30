// How soon a call is placed: from the moment when our server has a click-to-call's request to the
// moment when the POST of the agent's leg leaves for the switch, the whole of what must be durable
// in between. Asked for at appointed times (open loop), with api and worker in one process and in
// two; each call is carried to its end over a switch that costs next to nothing, so that the figure is
// ours: `npm --prefix bench run calls-placed`; `-- --smoke` does everything once and small.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { migrate } from "../server/lib/database/migrate.ts";
import { openAsker } from "./calls/ask-for-calls.ts";
import { openFixture, type Fixture } from "./calls/fixture.ts";
import { askOpenLoop } from "./calls-placed/ask-open-loop.ts";
import { reportPlaced, type Placed, type Run } from "./calls-placed/report.ts";
import { startChild, type Child } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rounds: 1, warm_seconds: 0, seconds: 0.5, rates: [100] }
  : { rounds: 5, warm_seconds: 3, seconds: 10, rates: [50, 100] };

type Stage = {
  readonly fixture: Fixture;
  readonly stub: Child;
  readonly database_url: string;
  readonly database_pid: number;
};

/** Of every call so far: no customer is called twice. */
let customers = 0;

await runBench("calls-placed", smoke, async (bench) => {
  const stage = await setStage(bench);
  const runs: Run[] = [];
  for (let round = 1; round <= size.rounds; round++) {
    for (const processes of round % 2 ? ([1, 2] as const) : ([2, 1] as const)) {
      runs.push(...(await runService(stage, processes)));
    }
  }
  await stage.fixture.checkInvariants();
  return reportPlaced(runs, size, bench.machine);
});

async function setStage({ postgres, defer }: Bench): Promise<Stage> {
  await migrate(postgres.url);
  const stub = await startChild(join(import.meta.dirname, "calls-placed/switch-stub.ts"), {});
  defer(() => stub.stop());
  const { port } = await stub.ask({});
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

/** Each rate once, over processes of our own that live only so long. */
async function runService(stage: Stage, processes: 1 | 2): Promise<Run[]> {
  const { fixture, database_url } = stage;
  const script = join(import.meta.dirname, "calls/service.ts");
  const roles = processes === 1 ? ["api,worker"] : ["api", "worker"];
  await fixture.open(10_000);
  const ours = await Promise.all(
    roles.map((each) => startChild(script, { DATABASE_URL: database_url, ROLES: each })),
  );
  const asker = openAsker((await ours[0]!.ask({}))["port"]!, fixture.token);
  try {
    await fixture.connected();
    const runs: Run[] = [];
    const warm = size.rates.at(-1)! * size.warm_seconds;
    if (warm > 0) await place(stage, ours, asker, size.rates.at(-1)!, warm);
    for (const per_second of size.rates) {
      await fixture.checkpoint();
      const calls = await place(stage, ours, asker, per_second, per_second * size.seconds);
      runs.push({ processes, per_second, ...calls });
      console.log(`${processes} process(es), ${per_second}/s: ${calls.placed.length} placed`);
    }
    return runs;
  } finally {
    await asker.close();
    // In good order: the lease is given back.
    await Promise.all(ours.map((child) => child.end()));
  }
}

/** Places so many calls and waits until all are over. */
async function place(
  { fixture, stub, database_pid }: Stage,
  ours: readonly Child[],
  asker: ReturnType<typeof openAsker>,
  per_second: number,
  count: number,
): Promise<Pick<Run, "placed" | "cpu_ms">> {
  const pids = { ours: ours.map(({ pid }) => pid), database: [database_pid] };
  const used = (name: keyof typeof pids) =>
    pids[name].reduce((sum, pid) => sum + cpuOfTree_seconds(pid), 0);
  const before = { ours: used("ours"), database: used("database") };
  const first = customers;
  customers += count;
  const asked = await askOpenLoop(asker, { first, count, per_second });
  while ((await fixture.underWay()) > 0) await wait(50);
  await fixture.checkCompleted(customers);
  const cost = (name: keyof typeof pids) => ((used(name) - before[name]) * 1_000) / count;
  const calls = await fixture.callsOf(asked.map(({ campaign_id }) => campaign_id));
  const all = await Promise.all([...ours, stub].map((child) => child.ask({ noted: 1 })));
  const noted = new Map(all.flatMap((notes) => Object.entries(notes)));
  const placed = asked.map((each): Placed => {
    const call = calls.get(each.campaign_id);
    const at = (name: string) => {
      const found = noted.get(name);
      if (found === undefined) throw new Error(`nobody noted: ${name}`);
      return found;
    };
    const received_ms = at(`received ${each.i}`);
    return {
      posted_ms: at(`posted ${call}`) - received_ms,
      answered_ms: each.answered_ms - received_ms,
      arrived_ms: at(`arrived ${call}`) - each.appointed_ms,
    };
  });
  return { placed, cpu_ms: { ours: cost("ours"), database: cost("database") } };
}
