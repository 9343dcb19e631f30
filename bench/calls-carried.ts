// Click-to-calls carried on a real Asterisk from the request to the end: the agent's leg, the ringing,
// the customer's leg, the bridge, a second's talk, and everything that follows when the customer hangs
// up; sipp answers after 200 ms at both ends. Beside it a bare ARI client that does the same legs,
// bridge and hang-ups over the same Asterisk and keeps nothing, and sipp straight at the dialplan.
//
// The figure is calls a second, by Asterisk's own records, with as many calls at once for everybody, as a
// trunk of so many channels allows: whoever leaves a place empty for longer carries less. Ours is
// asked over HTTP for a new call whenever one is over. A run in which a call fails does not count,
// it ends the bench. `npm --prefix bench run calls-carried`; `-- --smoke` does everything once and small.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { installAsterisk } from "../scripts/asterisk/install-asterisk.ts";
import { startAsterisk, type RunningAsterisk } from "../scripts/asterisk/start-asterisk.ts";
import { migrate } from "../server/lib/database/migrate.ts";
import { startCarrier, startPhones } from "../test/support/sipp.ts";
import { openAsker, type Asker } from "./calls/ask-for-calls.ts";
import { openFixture, type Fixture } from "./calls/fixture.ts";
import { awaitRecords, endOfRecords, readCarried } from "./calls/call-records.ts";
import { callStraight } from "./calls/call-straight.ts";
import { reportCarried, type Contender, type Round, type Run } from "./calls-carried/report.ts";
import { startChild, type Child } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { rotate } from "./lib/rotate.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rounds: 1, warm_count: 0, count: 6, in_flight: 4, talk_ms: 200 }
  : { rounds: 5, warm_count: 300, count: 600, in_flight: 30, talk_ms: 1_000 };
/** Calls that wait for a place, so that none stays empty for want of one. */
const backlog = 10;
const poll_ms = 50;
/** A run takes half a minute. */
const patience_ms = 180_000;

type Stage = {
  readonly asterisk: RunningAsterisk;
  readonly fixture: Fixture;
  readonly asker: Asker;
  readonly bare: Child;
  readonly pids: Readonly<Record<string, readonly number[]>>;
};

/** Of every call so far: no customer is called twice. */
let customers = 0;
let carried_by_us = 0;

await runBench("calls-carried", smoke, async (bench) => {
  const stage = await setStage(bench);
  if (size.warm_count > 0) await runRound(stage, 0, size.warm_count);
  const rounds: Round[] = [];
  for (let i = 1; i <= size.rounds; i++) rounds.push(await runRound(stage, i, size.count));
  await stage.fixture.checkInvariants();
  return reportCarried(rounds, size, bench.machine);
});

async function setStage({ data_dir, postgres, defer }: Bench): Promise<Stage> {
  installAsterisk(console.log);
  await migrate(postgres.url);
  const asterisk = await startAsterisk({ run_dir: join(data_dir, "asterisk") });
  defer(() => asterisk.stop());
  const carrier = await startCarrier(asterisk, "fast", { talk_ms: size.talk_ms });
  const phones = await startPhones(asterisk, "fast");
  defer(async () => void (await Promise.all([carrier.stop(), phones.stop()])));
  const { ari_url, ari_user, ari_password, app: ari_app, cdr_path } = asterisk;
  const ari = { ari_url, ari_user, ari_password, ari_app, cdr_path };
  const fixture = await openFixture(postgres.url, ari);
  defer(() => fixture.close());
  const start = async (script: string, env: Record<string, string>) => {
    const child = await startChild(join(import.meta.dirname, script), env);
    defer(() => child.stop());
    return child;
  };
  await fixture.shut();
  const ours = await start("calls/service.ts", {
    DATABASE_URL: postgres.url,
    ROLES: "api,worker",
  });
  const bare = await start("calls-carried/bare-client.ts", {
    ARI_URL: ari_url,
    ARI_USER: ari_user,
    ARI_PASSWORD: ari_password,
  });
  const asker = openAsker((await ours.ask({}))["port"]!, fixture.token);
  defer(() => asker.close());
  const far_ends = [carrier.pid, phones.pid];
  const pids = {
    ours: [ours.pid],
    bare: [bare.pid],
    database: [postgres.pid],
    asterisk: [asterisk.pid],
    sipp: far_ends,
  };
  return { asterisk, fixture, asker, bare, pids };
}

/** Each contender once, each round beginning with another. */
async function runRound(stage: Stage, number: number, count: number): Promise<Round> {
  const contenders: Record<Contender, () => Promise<Run>> = {
    bare: () => runBare(stage, count, false),
    ours: () => runOurs(stage, count, false),
    bare_recorded: () => runBare(stage, count, true),
    ours_recorded: () => runOurs(stage, count, true),
    straight: () => runStraight(stage, count),
  };
  const names = Object.keys(contenders) as Contender[];
  const round: Partial<Record<Contender, Run>> = {};
  for (const name of rotate(names, number)) {
    await stage.fixture.checkpoint();
    const run = await contenders[name]();
    round[name] = run;
    console.log(`round ${number} ${name}: ${run.per_second.toFixed(1)}/s`);
  }
  return round as Round;
}

function runBare(stage: Stage, count: number, recorded: boolean): Promise<Run> {
  const first = customers;
  customers += count;
  const order = { count, first, in_flight: size.in_flight, recorded: Number(recorded) };
  return measure(stage, { count, legs: 2 }, async () => void (await stage.bare.ask(order)));
}

/** The bare client's events are none of ours: the node is led only now. */
async function runOurs(stage: Stage, count: number, recorded: boolean): Promise<Run> {
  const { fixture } = stage;
  await fixture.record(recorded);
  await fixture.open(size.in_flight);
  await fixture.connected();
  const run = await measure(stage, { count, legs: 2 }, () => askAsTheyEnd(stage, count));
  carried_by_us += count;
  await fixture.checkCompleted(carried_by_us);
  await fixture.shut();
  return run;
}

/** Keeps the places full and a few calls waiting; resolves when all are over. */
async function askAsTheyEnd({ fixture, asker }: Stage, count: number): Promise<void> {
  let asked = 0;
  let answering = 0;
  const askOne = async () => {
    asked++;
    answering++;
    await asker.ask(customers++);
    answering--;
  };
  const deadline_ms = performance.now() + patience_ms;
  for (;;) {
    const under_way = (await fixture.underWay()) + answering;
    if (performance.now() > deadline_ms)
      throw new Error(
        `${asked} calls are asked for, ${answering} unanswered, ${under_way} not over`,
      );
    if (under_way === 0 && asked === count) return;
    const room = Math.min(size.in_flight + backlog - under_way, count - asked);
    for (let i = 0; i < room; i++) void askOne();
    await wait(poll_ms);
  }
}

function runStraight(stage: Stage, count: number): Promise<Run> {
  const { in_flight } = size;
  return measure(stage, { count, legs: 1 }, () =>
    callStraight(stage.asterisk, { count, in_flight }),
  );
}

/** The rate by Asterisk's records, and what each process used for it. */
async function measure(
  { asterisk, pids }: Stage,
  calls: { readonly count: number; readonly legs: number },
  run: () => Promise<void>,
): Promise<Run> {
  const used = () =>
    Object.entries(pids).map(
      ([name, of]) => [name, of.reduce((sum, pid) => sum + cpuOfTree_seconds(pid), 0)] as const,
    );
  const from = endOfRecords(asterisk.cdr_path);
  const before = new Map(used());
  await run();
  const costs = used().map(([name, seconds]) => [
    name,
    ((seconds - before.get(name)!) * 1_000) / calls.count,
  ]);
  await awaitRecords(asterisk.cdr_path, from, calls.count * calls.legs);
  const carried = readCarried(asterisk.cdr_path, from, { ...calls, in_flight: size.in_flight });
  return { ...carried, cpu_ms: Object.fromEntries(costs) as Record<string, number> };
}
