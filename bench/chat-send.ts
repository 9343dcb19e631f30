// Measures the sending of a campaign with all its records, compared with a bare loop of the same requests
// and BullMQ: `npm --prefix bench run chat-send`; `-- --smoke` for a small run.
import { join } from "node:path";
import { migrate } from "../server/lib/database/migrate.ts";
import { access_token, startFarEnd, type FarEnd } from "./chat-send/far-end.ts";
import { openFixture, type Fixture } from "./chat-send/fixture.ts";
import { startRedis } from "./chat-send/redis.ts";
import { reportSends, type Round, type Sent, type SentByUs } from "./chat-send/report.ts";
import { startChild, type Child } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { rotate } from "./lib/rotate.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rounds: 1, warm_count: 50, slow_count: 200, fast_count: 200 }
  : { rounds: 5, warm_count: 20_000, slow_count: 10_000, fast_count: 20_000 };
const delay_ms = 50;
const in_flight = 100;

/** All processes. */
type Setup = {
  readonly farEnd: FarEnd;
  readonly fixture: Fixture;
  readonly worker: Child;
  readonly bare: Child;
  readonly bullmq: Child;
  readonly database_pid: number;
  readonly redis_pid: number;
};

await runBench("chat-send", smoke, async (bench) => {
  const setup = await setUp(bench);
  const { warm_count, slow_count, fast_count } = size;
  await runFast(setup, 0, warm_count);
  const rounds: Round[] = [];
  for (let i = 1; i <= size.rounds; i++) {
    const round = {
      slow: await runSlow(setup, i, slow_count),
      fast: await runFast(setup, i, fast_count),
    };
    rounds.push(round);
  }
  await setup.fixture.checkInvariants();
  return reportSends(rounds, { slow_count, fast_count, delay_ms }, bench.machine);
});

async function setUp({ data_dir, postgres, defer }: Bench): Promise<Setup> {
  await migrate(postgres.url);
  const fixture = await openFixture(postgres.url);
  defer(() => fixture.close());
  const farEnd = await startFarEnd();
  defer(() => farEnd.stop());
  const redis = await startRedis(join(data_dir, "redis"));
  defer(() => redis.stop());
  const start = async (script: string, env: Record<string, string> = {}) => {
    const child = await startChild(join(import.meta.dirname, "chat-send", script), {
      API_URL: farEnd.api_url,
      ACCESS_TOKEN: access_token,
      IN_FLIGHT: String(in_flight),
      ...env,
    });
    defer(() => child.stop());
    return child;
  };
  return {
    farEnd,
    fixture,
    worker: await start("worker.ts", { DATABASE_URL: postgres.url }),
    bare: await start("bare-loop.ts"),
    bullmq: await start("bullmq-worker.ts", { REDIS_PORT: String(redis.port) }),
    database_pid: postgres.pid,
    redis_pid: redis.pid,
  };
}

async function runSlow(setup: Setup, number: number, count: number): Promise<Round["slow"]> {
  const send = { delay_ms, count };
  return runRotated(number, {
    bare: () => sendBare(setup, send),
    ours: () => sendOurs(setup, send),
  });
}

async function runFast(setup: Setup, number: number, count: number): Promise<Round["fast"]> {
  const send = { delay_ms: 0, count };
  return runRotated(number, {
    bare: () => sendBare(setup, send),
    bullmq: () => sendWithBullmq(setup, send),
    ours: () => sendOurs(setup, send),
  });
}

/** Runs each contender once; each round starts with a different one. */
async function runRotated<Results extends Record<string, Sent>>(
  number: number,
  contenders: { readonly [Name in keyof Results]: () => Promise<Results[Name]> },
): Promise<Results> {
  const names = Object.keys(contenders);
  const results: Partial<Results> = {};
  for (const name of rotate(names, number) as (keyof Results)[]) {
    const result = await contenders[name]();
    results[name] = result;
    console.log(`round ${number} ${String(name)}: ${Math.round(result.per_second)}/s`);
  }
  return results as Results;
}

type Send = { readonly delay_ms: number; readonly count: number };

function sendBare({ farEnd, bare }: Setup, send: Send): Promise<Sent> {
  return measure(farEnd, send, { sender: bare.pid }, async () => void (await bare.request(send)));
}

async function sendOurs(setup: Setup, send: Send): Promise<SentByUs> {
  const { farEnd, fixture, worker, database_pid } = setup;
  const campaign = await fixture.makeCampaign(send.count);
  await fixture.checkpoint();
  const before = await worker.request({});
  const pids = { sender: worker.pid, database: database_pid };
  const sent = await measure(farEnd, send, pids, () => fixture.sendCampaign(campaign));
  const after = await worker.request({});
  const iterations = after["count"]! - before["count"]!;
  return {
    ...sent,
    messages_per_iteration: send.count / iterations,
    iteration_ms: (after["ms"]! - before["ms"]!) / iterations,
  };
}

async function sendWithBullmq(setup: Setup, send: Send): Promise<Round["fast"]["bullmq"]> {
  const { farEnd, bullmq, redis_pid } = setup;
  const { added_per_second } = await bullmq.request({ add: send.count });
  const pids = { sender: bullmq.pid, database: redis_pid };
  const sent = await measure(farEnd, send, pids, async () => void (await bullmq.request({})));
  return { ...sent, added_per_second: added_per_second! };
}

/** Returns the rate by the far end's log and the processor time of each process. */
async function measure(
  farEnd: FarEnd,
  { delay_ms: after_ms, count }: Send,
  pids: Readonly<Record<string, number>>,
  run: () => Promise<void>,
): Promise<Sent> {
  await farEnd.reset(after_ms);
  const measured = Object.entries({ ...pids, "far end": farEnd.pid });
  const used = () => measured.map(([, pid]) => cpuOfTree_seconds(pid));
  const before = used();
  await run();
  const after = used();
  const costs = measured.map(([name], i) => [name, ((after[i]! - before[i]!) * 1e6) / count]);
  return {
    per_second: await farEnd.rateOf(count),
    cpu_us: Object.fromEntries(costs) as Record<string, number>,
  };
}
