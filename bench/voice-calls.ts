// Measures voice campaigns over a real Asterisk: launched over HTTP, each recipient dialed, played audio and
// hung up on, with all records; SIPp is the far end. Compared with a bare ARI client that does the same
// without storing anything, and with SIPp calling the dialplan directly, all with the same number of
// concurrent calls. Then measures how exactly a trunk's pacing is kept.
//
// The figure is calls per second by Asterisk's CDR. A failed call ends the benchmark, except in paced runs
// above the machine's capacity, which report failures. `npm --prefix bench run voice-calls`; `-- --smoke`
// for a small run.
import { join } from "node:path";
import { installAsterisk } from "../scripts/asterisk/install-asterisk.ts";
import { startAsterisk, type RunningAsterisk } from "../scripts/asterisk/start-asterisk.ts";
import { startCarrier } from "../test/support/sipp.ts";
import { awaitRecords, endOfRecords, readCarried } from "./calls/call-records.ts";
import { callDirectly } from "./calls/call-directly.ts";
import { startChild, type Child } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { rotate } from "./lib/rotate.ts";
import { until } from "./lib/until.ts";
import { openFixture, type Fixture } from "./voice/fixture.ts";
import { readInvites } from "./voice-calls/invites.ts";
import {
  contenders,
  parts,
  reportVoiceCalls,
  type CarriedRun,
  type Contender,
  type Costs,
  type PacedRun,
} from "./voice-calls/report.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const audio_ms = smoke ? 500 : 1_500;
const size = smoke
  ? { rounds: 1, warm: 0, in_flight: [10], waves: 2, rates: [20], paced_seconds: 1, audio_ms }
  : {
      rounds: 5,
      warm: 300,
      in_flight: [30, 90],
      waves: 10,
      rates: [50, 100, 150],
      paced_seconds: 10,
      audio_ms,
    };
/** Above the concurrent calls of any run. */
const calls_max = 5_000;
const poll_ms = 50;
/** Far above the duration of a run, half a minute. */
const timeout_ms = 180_000;

type Setup = {
  readonly asterisk: RunningAsterisk;
  readonly fixture: Fixture;
  readonly bare: Child;
  readonly pids: Readonly<Record<(typeof parts)[number], number>>;
};

/** The number of customers that the bare client has called; none is called twice. */
let customers = 0;
await runBench("voice-calls", smoke, async (bench) => {
  const setup = await setUp(bench);
  if (size.warm > 0) {
    await runCarried(setup, "bare", size.in_flight[0]!, size.warm);
    await runCarried(setup, "ours", size.in_flight[0]!, size.warm);
  }
  const carried: CarriedRun[] = [];
  const paced: PacedRun[] = [];
  for (let i = 1; i <= size.rounds; i++) {
    carried.push(...(await runRound(setup, i)));
    for (const rate of size.rates) paced.push(await runPaced(setup, rate));
  }
  await setup.fixture.checkInvariants();
  return reportVoiceCalls({ carried, paced }, size, bench.machine);
});

async function setUp({ data_dir, postgres, defer }: Bench): Promise<Setup> {
  installAsterisk(console.log);
  const asterisk = await startAsterisk({ run_dir: join(data_dir, "asterisk") });
  defer(() => asterisk.stop());
  const carrier = await startCarrier(asterisk, "fast");
  defer(() => carrier.stop());
  const service_dir = join(data_dir, "service");
  const fixture = await openFixture(postgres.url, { asterisk, data_dir: service_dir, audio_ms });
  defer(() => fixture.close());
  const bare = await startChild(join(import.meta.dirname, "voice-calls/bare-client.ts"), {
    ARI_URL: asterisk.ari_url,
    ARI_USER: asterisk.ari_user,
    ARI_PASSWORD: asterisk.ari_password,
    AUDIO: fixture.audio_path!,
  });
  defer(() => bare.stop());
  const pids = {
    ours: fixture.service.pid,
    bare: bare.pid,
    database: postgres.pid,
    asterisk: asterisk.pid,
    sipp: carrier.pid,
  };
  return { asterisk, fixture, bare, pids };
}

/** Runs each contender once with each number of calls; each round starts with a different one. */
async function runRound(setup: Setup, number: number): Promise<CarriedRun[]> {
  const runs: CarriedRun[] = [];
  for (const in_flight of size.in_flight) {
    for (const contender of rotate(contenders, number)) {
      const run = await runCarried(setup, contender, in_flight, in_flight * size.waves);
      runs.push(run);
      const run_text = `round ${number}, ${in_flight} at once, ${contender}`;
      console.log(`${run_text}: ${run.per_second.toFixed(1)}/s`);
    }
  }
  return runs;
}

async function runCarried(
  setup: Setup,
  contender: Contender,
  in_flight: number,
  count: number,
): Promise<CarriedRun> {
  const { asterisk, fixture } = setup;
  await fixture.checkpoint();
  // The node is active only in our runs, because the bare client's events do not concern it.
  if (contender === "ours") await fixture.activate(in_flight);
  const from = endOfRecords(asterisk.cdr_path);
  const runs: Readonly<Record<Contender, () => Promise<unknown>>> = {
    bare: () => setup.bare.request({ count, first: (customers += count) - count, in_flight }),
    ours: async () => fixture.checkReached(await runCampaign(fixture, count)),
    direct: () => callDirectly(asterisk, { count, in_flight }),
  };
  const { seconds, cpu_ms } = await measure(setup, count, runs[contender]);
  if (contender === "ours") await fixture.deactivate();
  await awaitRecords(asterisk.cdr_path, from, count);
  const carried = readCarried(asterisk.cdr_path, from, { count, legs: 1, in_flight });
  return { ...carried, contender, in_flight, whole_per_second: count / seconds, cpu_ms };
}

/** The calls of a fifth of a second may start at once, see server/calls/leader/node/leg-rate.ts. */
async function runPaced(setup: Setup, rate: number): Promise<PacedRun> {
  const { asterisk, fixture } = setup;
  const count = rate * size.paced_seconds;
  await fixture.checkpoint();
  await fixture.activate(calls_max, rate);
  const from = endOfRecords(asterisk.cdr_path);
  const { cpu_ms } = await measure(setup, count, () => runCampaign(fixture, count));
  await fixture.deactivate();
  await awaitRecords(asterisk.cdr_path, from, count);
  const paced = readInvites(asterisk.cdr_path, from, { count, at_once: rate / 5 });
  console.log(`paced at ${rate}/s: ${paced.per_second.toFixed(1)}/s`);
  return { ...paced, rate, cpu_ms };
}

/** Launches a campaign and waits until every recipient's state is final; returns its ID. */
async function runCampaign(fixture: Fixture, count: number): Promise<number> {
  const campaign = await fixture.launch(count);
  const isOver = async () => (await fixture.pending(campaign)) === 0;
  await until("all recipients are final", isOver, { poll_ms, timeout_ms });
  return campaign;
}

/** Returns the duration of `run` and the processor time of each process. */
async function measure(
  { pids }: Setup,
  count: number,
  run: () => Promise<unknown>,
): Promise<{ readonly seconds: number; readonly cpu_ms: Costs }> {
  const used = () => parts.map((part) => [part, cpuOfTree_seconds(pids[part])] as const);
  const before = new Map(used());
  const began_ms = performance.now();
  await run();
  const seconds = (performance.now() - began_ms) / 1_000;
  const costs = used().map(([part, spent]) => [
    part,
    ((spent - before.get(part)!) * 1_000) / count,
  ]);
  return { seconds, cpu_ms: Object.fromEntries(costs) as Costs };
}
