// Callbacks delivered by one worker, beside a bare loop of the same requests, and beside an endpoint
// that hangs: `npm --prefix bench run callbacks`; `-- --smoke` does everything once and small.
import { join } from "node:path";
import { migrate } from "../server/lib/database/migrate.ts";
import { openFixture, type Fixture } from "./callbacks/fixture.ts";
import { reportCallbacks, type OurRate, type Rate, type Round } from "./callbacks/report.ts";
import { startChild, type Child } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
/** Events; each is told to every endpoint. */
const size = smoke
  ? { rounds: 1, warm_count: 20, count: 50, bad_count: 50 }
  : { rounds: 5, warm_count: 1_000, count: 2_000, bad_count: 1_000 };
const endpoints = 10;
/** Of one endpoint: what a deliverer works its way up to. */
const in_flight = 32;

type Stage = {
  readonly fixture: Fixture;
  readonly receivers: Child;
  readonly worker: Child;
  readonly bare: Child;
  readonly ports: readonly number[];
  readonly database_pid: number;
};

await runBench("callbacks", smoke, async (bench) => {
  const stage = await setStage(bench);
  await deliverOurs(stage, size.warm_count);
  await deliverBare(stage, size.warm_count);
  const rounds: Round[] = [];
  for (let i = 1; i <= size.rounds; i++) rounds.push(await runRound(stage, i));
  const { count, bad_count } = size;
  return reportCallbacks(rounds, { endpoints, count, bad_count }, bench.machine);
});

async function setStage({ postgres, defer }: Bench): Promise<Stage> {
  await migrate(postgres.url);
  const fixture = await openFixture(postgres.url);
  defer(() => fixture.close());
  const start = async (script: string, env: Record<string, string>) => {
    const child = await startChild(join(import.meta.dirname, "callbacks", script), env);
    defer(() => child.stop());
    return child;
  };
  const receivers = await start("receivers.ts", { ENDPOINTS: String(endpoints) });
  const ports = Object.values(await receivers.ask({ hang: 0 }));
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

/** Everything once, each round beginning with the other. */
async function runRound(stage: Stage, number: number): Promise<Round> {
  const rates: { ours?: OurRate; bare?: Rate } = {};
  const contenders = [
    async () => void (rates.ours = await deliverOurs(stage, size.count)),
    async () => void (rates.bare = await deliverBare(stage, size.count)),
  ];
  for (const deliver of number % 2 === 0 ? contenders : contenders.toReversed()) await deliver();
  const times = { beside_bad_ms: 0, alone_ms: 0 };
  const turns = ["beside_bad_ms", "alone_ms"] as const;
  for (const turn of number % 2 === 0 ? turns : turns.toReversed())
    times[turn] = await deliverToHealthy(stage, turn === "beside_bad_ms");
  const [ours, bare] = [rates.ours!, rates.bare!];
  const told = [ours, bare].map(({ per_second }) => `${Math.round(per_second)}/s`);
  const took = turns.map((turn) => `${turn} ${Math.round(times[turn])}`);
  console.log(`round ${number}: ours and bare ${told.join(", ")}; ${took.join(", ")}`);
  return { ours, bare, ...times };
}

async function deliverBare(stage: Stage, count: number): Promise<Rate> {
  return measure(stage, { sender: stage.bare.pid }, count, async () => {
    await stage.bare.ask({ count });
  });
}

async function deliverOurs(stage: Stage, count: number): Promise<OurRate> {
  const { fixture, ports, worker, database_pid } = stage;
  const run = await fixture.prepare(ports, count);
  const pids = { sender: worker.pid, database: database_pid };
  const before = await worker.ask({});
  const rate = await measure(stage, pids, count, async () => {
    await fixture.letGo(run);
    await fixture.awaitDelivered(run, endpoints);
  });
  const after = await worker.ask({});
  await fixture.clear(run);
  const turns = after["count"]! - before["count"]!;
  return {
    ...rate,
    callbacks_per_turn: (count * endpoints) / turns,
    turn_ms: (after["ms"]! - before["ms"]!) / turns,
  };
}

/** The rate by the receivers' clock, and what the processes used for it. Throws unless each callback came. */
async function measure(
  { receivers }: Stage,
  pids: Readonly<Record<string, number>>,
  events: number,
  deliver: () => Promise<void>,
): Promise<Rate> {
  await receivers.ask({ hang: 0 });
  const measured = Object.entries({ ...pids, receivers: receivers.pid });
  const used = () => measured.map(([, pid]) => cpuOfTree_seconds(pid));
  const before = used();
  await deliver();
  const after = used();
  const count = events * endpoints;
  const { distinct, first_ms, last_ms } = await receivers.ask({});
  if (distinct !== count) throw new Error(`${distinct} different callbacks of ${count} came`);
  const costs = measured.map(([name], i) => [name, ((after[i]! - before[i]!) * 1e6) / count]);
  return {
    per_second: ((count - 1) * 1_000) / (last_ms! - first_ms!),
    cpu_us: Object.fromEntries(costs) as Record<string, number>,
  };
}

/** Milliseconds from when everything is due until the last callback of a healthy endpoint. */
async function deliverToHealthy(stage: Stage, besideBad: boolean): Promise<number> {
  const { fixture, receivers, ports } = stage;
  await receivers.ask({ hang: 1 });
  const healthy = endpoints - 1;
  const run = await fixture.prepare(
    ports.slice(0, besideBad ? endpoints : healthy),
    size.bad_count,
  );
  const began_ms = await fixture.letGo(run);
  await fixture.awaitDelivered(run, healthy);
  const { distinct, last_ms } = await receivers.ask({});
  if (distinct !== healthy * size.bad_count)
    throw new Error(`${distinct} different callbacks came`);
  // Ends what hangs.
  await receivers.ask({ hang: 0 });
  await fixture.clear(run);
  return last_ms! - began_ms;
}
