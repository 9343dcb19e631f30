// Measures the callbacks that one worker delivers, compared with a bare loop of the same requests, and the
// effect of an endpoint that hangs: `npm --prefix bench run callbacks`; `-- --smoke` for a small run.
import { join } from "node:path";
import { migrate } from "../server/lib/database/migrate.ts";
import { openFixture, type Fixture } from "./callbacks/fixture.ts";
import { reportCallbacks, type OurRate, type Rate, type Round } from "./callbacks/report.ts";
import { startChild, type Child } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
/** Counts of events; each event is delivered to every endpoint. */
const size = smoke
  ? { rounds: 1, warm_count: 20, count: 50, bad_count: 50 }
  : { rounds: 5, warm_count: 1_000, count: 2_000, bad_count: 1_000 };
const endpoints = 10;
/** Requests in flight to one endpoint: the maximum of a deliverer. */
const in_flight = 32;

type Setup = {
  readonly fixture: Fixture;
  readonly receivers: Child;
  readonly worker: Child;
  readonly bare: Child;
  readonly ports: readonly number[];
  readonly database_pid: number;
};

await runBench("callbacks", smoke, async (bench) => {
  const setup = await setUp(bench);
  await deliverOurs(setup, size.warm_count);
  await deliverBare(setup, size.warm_count);
  const rounds: Round[] = [];
  for (let i = 1; i <= size.rounds; i++) rounds.push(await runRound(setup, i));
  const { count, bad_count } = size;
  return reportCallbacks(rounds, { endpoints, count, bad_count }, bench.machine);
});

async function setUp({ postgres, defer }: Bench): Promise<Setup> {
  await migrate(postgres.url);
  const fixture = await openFixture(postgres.url);
  defer(() => fixture.close());
  const start = async (script: string, env: Record<string, string>) => {
    const child = await startChild(join(import.meta.dirname, "callbacks", script), env);
    defer(() => child.stop());
    return child;
  };
  const receivers = await start("receivers.ts", { ENDPOINTS: String(endpoints) });
  const ports = Object.values(await receivers.request({ hang: 0 }));
  const bare_env = { PORTS: ports.join(), IN_FLIGHT: String(in_flight) };
  return {
    fixture,
    receivers,
    worker: await start("worker.ts", { DATABASE_URL: postgres.url }),
    bare: await start("bare-loop.ts", bare_env),
    ports,
    database_pid: postgres.pid,
  };
}

/** Runs each contender once; rounds alternate which one starts. */
async function runRound(setup: Setup, number: number): Promise<Round> {
  const rates: { ours?: OurRate; bare?: Rate } = {};
  const contenders = [
    async () => void (rates.ours = await deliverOurs(setup, size.count)),
    async () => void (rates.bare = await deliverBare(setup, size.count)),
  ];
  for (const deliver of number % 2 === 0 ? contenders : contenders.toReversed()) await deliver();
  const times = { beside_bad_ms: 0, alone_ms: 0 };
  const runs = ["beside_bad_ms", "alone_ms"] as const;
  for (const run of number % 2 === 0 ? runs : runs.toReversed())
    times[run] = await deliverToHealthy(setup, run === "beside_bad_ms");
  const [ours, bare] = [rates.ours!, rates.bare!];
  const rates_text = [ours, bare].map(({ per_second }) => `${Math.round(per_second)}/s`);
  const times_text = runs.map((run) => `${run} ${Math.round(times[run])}`);
  console.log(`round ${number}: ours and bare ${rates_text.join(", ")}; ${times_text.join(", ")}`);
  return { ours, bare, ...times };
}

async function deliverBare(setup: Setup, count: number): Promise<Rate> {
  return measure(setup, { sender: setup.bare.pid }, count, async () => {
    await setup.bare.request({ count });
  });
}

async function deliverOurs(setup: Setup, count: number): Promise<OurRate> {
  const { fixture, ports, worker, database_pid } = setup;
  const run = await fixture.prepare(ports, count);
  const pids = { sender: worker.pid, database: database_pid };
  const before = await worker.request({});
  const rate = await measure(setup, pids, count, async () => {
    await fixture.release(run);
    await fixture.awaitDelivered(run, endpoints);
  });
  const after = await worker.request({});
  await fixture.clear(run);
  const iterations = after["count"]! - before["count"]!;
  return {
    ...rate,
    callbacks_per_iteration: (count * endpoints) / iterations,
    iteration_ms: (after["ms"]! - before["ms"]!) / iterations,
  };
}

/** Returns the rate by the receivers' clock and the processor time used. Throws unless every callback arrived. */
async function measure(
  { receivers }: Setup,
  pids: Readonly<Record<string, number>>,
  events: number,
  deliver: () => Promise<void>,
): Promise<Rate> {
  await receivers.request({ hang: 0 });
  const measured = Object.entries({ ...pids, receivers: receivers.pid });
  const used = () => measured.map(([, pid]) => cpuOfTree_seconds(pid));
  const before = used();
  await deliver();
  const after = used();
  const count = events * endpoints;
  const { distinct, first_ms, last_ms } = await receivers.request({});
  if (distinct !== count) throw new Error(`${distinct} distinct callbacks arrived, not ${count}`);
  const costs = measured.map(([name], i) => [name, ((after[i]! - before[i]!) * 1e6) / count]);
  return {
    per_second: ((count - 1) * 1_000) / (last_ms! - first_ms!),
    cpu_us: Object.fromEntries(costs) as Record<string, number>,
  };
}

/** Returns the milliseconds from the release until the last callback at a healthy endpoint. */
async function deliverToHealthy(setup: Setup, besideBad: boolean): Promise<number> {
  const { fixture, receivers, ports } = setup;
  await receivers.request({ hang: 1 });
  const healthy = endpoints - 1;
  const run = await fixture.prepare(
    ports.slice(0, besideBad ? endpoints : healthy),
    size.bad_count,
  );
  const began_ms = await fixture.release(run);
  await fixture.awaitDelivered(run, healthy);
  const { distinct, last_ms } = await receivers.request({});
  if (distinct !== healthy * size.bad_count)
    throw new Error(`${distinct} distinct callbacks arrived`);
  // Ends the hanging requests.
  await receivers.request({ hang: 0 });
  await fixture.clear(run);
  return last_ms! - began_ms;
}
