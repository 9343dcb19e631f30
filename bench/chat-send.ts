// A campaign sent with all its bookkeeping, beside a bare loop of the same requests and BullMQ:
// `npm --prefix bench run chat-send`; `-- --smoke` does everything once and small.
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

/** Everybody, and what each process is called where its costs are told. */
type Stage = {
  readonly farEnd: FarEnd;
  readonly fixture: Fixture;
  readonly worker: Child;
  readonly bare: Child;
  readonly bullmq: Child;
  readonly database_pid: number;
  readonly redis_pid: number;
};

await runBench("chat-send", smoke, async (bench) => {
  const stage = await setStage(bench);
  const { warm_count, slow_count, fast_count } = size;
  await runFast(stage, 0, warm_count);
  const rounds: Round[] = [];
  for (let i = 1; i <= size.rounds; i++) {
    const round = {
      slow: await runSlow(stage, i, slow_count),
      fast: await runFast(stage, i, fast_count),
    };
    rounds.push(round);
  }
  await stage.fixture.checkInvariants();
  return reportSends(rounds, { slow_count, fast_count, delay_ms }, bench.machine);
});

async function setStage({ data_dir, postgres, defer }: Bench): Promise<Stage> {
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

async function runSlow(stage: Stage, number: number, count: number): Promise<Round["slow"]> {
  const send = { delay_ms, count };
  return inTurns(number, {
    bare: () => sendBare(stage, send),
    ours: () => sendOurs(stage, send),
  });
}

async function runFast(stage: Stage, number: number, count: number): Promise<Round["fast"]> {
  const send = { delay_ms: 0, count };
  return inTurns(number, {
    bare: () => sendBare(stage, send),
    bullmq: () => sendByBullmq(stage, send),
    ours: () => sendOurs(stage, send),
  });
}

/** Each contender once, each round beginning with another. */
async function inTurns<Results extends Record<string, Sent>>(
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

function sendBare({ farEnd, bare }: Stage, send: Send): Promise<Sent> {
  return measure(farEnd, send, { sender: bare.pid }, async () => void (await bare.ask(send)));
}

async function sendOurs(stage: Stage, send: Send): Promise<SentByUs> {
  const { farEnd, fixture, worker, database_pid } = stage;
  const campaign = await fixture.makeCampaign(send.count);
  await fixture.checkpoint();
  const before = await worker.ask({});
  const pids = { sender: worker.pid, database: database_pid };
  const sent = await measure(farEnd, send, pids, () => fixture.sendCampaign(campaign));
  const after = await worker.ask({});
  const turns = after["count"]! - before["count"]!;
  return {
    ...sent,
    messages_per_turn: send.count / turns,
    turn_ms: (after["ms"]! - before["ms"]!) / turns,
  };
}

async function sendByBullmq(stage: Stage, send: Send): Promise<Round["fast"]["bullmq"]> {
  const { farEnd, bullmq, redis_pid } = stage;
  const { added_per_second } = await bullmq.ask({ add: send.count });
  const pids = { sender: bullmq.pid, database: redis_pid };
  const sent = await measure(farEnd, send, pids, async () => void (await bullmq.ask({})));
  return { ...sent, added_per_second: added_per_second! };
}

/** The rate by the far end's log, and what the processes used for it. */
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
