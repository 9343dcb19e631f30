// Measures complete click-to-calls over a real Asterisk: agent leg, ringback, customer leg, bridge, one
// second of conversation, and the end when the customer hangs up; SIPp answers after 200 ms at both ends.
// Compared with a bare ARI client that does the same without storing anything, and with SIPp calling the
// dialplan directly. `npm --prefix bench run calls-carried`; `-- --smoke` for a small run.
//
// The figure is calls per second by Asterisk's CDR, with the same number of concurrent calls for every
// contender. Our service gets a new call over HTTP whenever one has ended. A failed call ends the benchmark.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { installAsterisk } from "../scripts/asterisk/install-asterisk.ts";
import { startAsterisk, type RunningAsterisk } from "../scripts/asterisk/start-asterisk.ts";
import { migrate } from "../server/lib/database/migrate.ts";
import { startCarrier, startPhones } from "../test/support/sipp.ts";
import { openCallSubmitter, type CallSubmitter } from "./calls/submit-calls.ts";
import { openFixture, type Fixture } from "./calls/fixture.ts";
import { awaitRecords, endOfRecords, readCarried } from "./calls/call-records.ts";
import { callDirectly } from "./calls/call-directly.ts";
import { reportCarried, type Contender, type Round, type Run } from "./calls-carried/report.ts";
import { startChild, type Child } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { rotate } from "./lib/rotate.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rounds: 1, warm_count: 0, count: 6, in_flight: 4, talk_ms: 200 }
  : { rounds: 5, warm_count: 300, count: 600, in_flight: 30, talk_ms: 1_000 };
/** Queued calls, so that a new one can start as soon as another ends. */
const backlog = 10;
const poll_ms = 50;
/** Far above the duration of a run, half a minute. */
const timeout_ms = 180_000;

type Setup = {
  readonly asterisk: RunningAsterisk;
  readonly fixture: Fixture;
  readonly submitter: CallSubmitter;
  readonly bare: Child;
  readonly pids: Readonly<Record<string, readonly number[]>>;
};

/** The number of customers called so far; none is called twice. */
let customers = 0;
let our_calls = 0;

await runBench("calls-carried", smoke, async (bench) => {
  const setup = await setUp(bench);
  if (size.warm_count > 0) await runRound(setup, 0, size.warm_count);
  const rounds: Round[] = [];
  for (let i = 1; i <= size.rounds; i++) rounds.push(await runRound(setup, i, size.count));
  await setup.fixture.checkInvariants();
  return reportCarried(rounds, size, bench.machine);
});

async function setUp({ data_dir, postgres, defer }: Bench): Promise<Setup> {
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
  await fixture.deactivate();
  const ours = await start("calls/service.ts", {
    DATABASE_URL: postgres.url,
    ROLES: "api,worker",
  });
  const bare = await start("calls-carried/bare-client.ts", {
    ARI_URL: ari_url,
    ARI_USER: ari_user,
    ARI_PASSWORD: ari_password,
  });
  const submitter = openCallSubmitter((await ours.request({}))["port"]!, fixture.token);
  defer(() => submitter.close());
  const far_ends = [carrier.pid, phones.pid];
  const pids = {
    ours: [ours.pid],
    bare: [bare.pid],
    database: [postgres.pid],
    asterisk: [asterisk.pid],
    sipp: far_ends,
  };
  return { asterisk, fixture, submitter, bare, pids };
}

/** Runs each contender once; each round starts with a different one. */
async function runRound(setup: Setup, number: number, count: number): Promise<Round> {
  const contenders: Record<Contender, () => Promise<Run>> = {
    bare: () => runBare(setup, count, false),
    ours: () => runOurs(setup, count, false),
    bare_recorded: () => runBare(setup, count, true),
    ours_recorded: () => runOurs(setup, count, true),
    direct: () => runDirect(setup, count),
  };
  const names = Object.keys(contenders) as Contender[];
  const round: Partial<Record<Contender, Run>> = {};
  for (const name of rotate(names, number)) {
    await setup.fixture.checkpoint();
    const run = await contenders[name]();
    round[name] = run;
    console.log(`round ${number} ${name}: ${run.per_second.toFixed(1)}/s`);
  }
  return round as Round;
}

function runBare(setup: Setup, count: number, recorded: boolean): Promise<Run> {
  const first = customers;
  customers += count;
  const order = { count, first, in_flight: size.in_flight, recorded: Number(recorded) };
  return measure(setup, { count, legs: 2 }, async () => void (await setup.bare.request(order)));
}

/** Runs our service. The node is active only now, because the bare client's events do not concern it. */
async function runOurs(setup: Setup, count: number, recorded: boolean): Promise<Run> {
  const { fixture } = setup;
  await fixture.record(recorded);
  await fixture.activate(size.in_flight);
  await fixture.awaitConnected();
  const run = await measure(setup, { count, legs: 2 }, () => submitContinuously(setup, count));
  our_calls += count;
  await fixture.checkCompleted(our_calls);
  await fixture.deactivate();
  return run;
}

/** Keeps the maximum of calls live and a few queued; resolves when all have ended. */
async function submitContinuously({ fixture, submitter }: Setup, count: number): Promise<void> {
  let submitted = 0;
  let unanswered = 0;
  const submitOne = async () => {
    submitted++;
    unanswered++;
    await submitter.submit(customers++);
    unanswered--;
  };
  const deadline_ms = performance.now() + timeout_ms;
  for (;;) {
    const live = (await fixture.countLive()) + unanswered;
    if (performance.now() > deadline_ms)
      throw new Error(
        `${submitted} calls are submitted, ${unanswered} unanswered, ${live} not ended`,
      );
    if (live === 0 && submitted === count) return;
    const room = Math.min(size.in_flight + backlog - live, count - submitted);
    for (let i = 0; i < room; i++) void submitOne();
    await wait(poll_ms);
  }
}

function runDirect(setup: Setup, count: number): Promise<Run> {
  const { in_flight } = size;
  return measure(setup, { count, legs: 1 }, () =>
    callDirectly(setup.asterisk, { count, in_flight }),
  );
}

/** Returns the rate by Asterisk's CDR and the processor time of each process. */
async function measure(
  { asterisk, pids }: Setup,
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
