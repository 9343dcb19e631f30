// The calls of voice campaigns on a real Asterisk: launched over HTTP, everybody dialled, played a
// recording and hung up on, with all that is kept of it; sipp is the far end. Beside it a bare ARI
// client that does the same over the same Asterisk and keeps nothing, and sipp straight at the dialplan,
// each with as many calls at once. Then how exactly a trunk's calls a second are held.
//
// The figure is calls a second by Asterisk's own records. A run in which a call fails does not count, it
// ends the bench; only where the pace asks for more than the machine may have, failures are told.
// `npm --prefix bench run voice-calls`; `-- --smoke` does everything once and small.
import { join } from "node:path";
import { installAsterisk } from "../scripts/asterisk/install-asterisk.ts";
import { startAsterisk, type RunningAsterisk } from "../scripts/asterisk/start-asterisk.ts";
import { startCarrier } from "../test/support/sipp.ts";
import { awaitRecords, endOfRecords, readCarried } from "./calls/call-records.ts";
import { callStraight } from "./calls/call-straight.ts";
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
/** More than any of these runs ever has. */
const calls_max = 5_000;
const poll_ms = 50;
/** A run takes half a minute. */
const patience_ms = 180_000;

type Stage = {
  readonly asterisk: RunningAsterisk;
  readonly fixture: Fixture;
  readonly bare: Child;
  readonly pids: Readonly<Record<(typeof parts)[number], number>>;
};

/** Of the bare client: nobody is called twice. */
let customers = 0;
await runBench("voice-calls", smoke, async (bench) => {
  const stage = await setStage(bench);
  if (size.warm > 0) {
    await runCarried(stage, "bare", size.in_flight[0]!, size.warm);
    await runCarried(stage, "ours", size.in_flight[0]!, size.warm);
  }
  const carried: CarriedRun[] = [];
  const paced: PacedRun[] = [];
  for (let i = 1; i <= size.rounds; i++) {
    carried.push(...(await runRound(stage, i)));
    for (const rate of size.rates) paced.push(await runPaced(stage, rate));
  }
  await stage.fixture.checkInvariants();
  return reportVoiceCalls({ carried, paced }, size, bench.machine);
});

async function setStage({ data_dir, postgres, defer }: Bench): Promise<Stage> {
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

/** Each contender once with each number of calls, each round beginning with another. */
async function runRound(stage: Stage, number: number): Promise<CarriedRun[]> {
  const runs: CarriedRun[] = [];
  for (const in_flight of size.in_flight) {
    for (const contender of rotate(contenders, number)) {
      const run = await runCarried(stage, contender, in_flight, in_flight * size.waves);
      runs.push(run);
      const told = `round ${number}, ${in_flight} at once, ${contender}`;
      console.log(`${told}: ${run.per_second.toFixed(1)}/s`);
    }
  }
  return runs;
}

async function runCarried(
  stage: Stage,
  contender: Contender,
  in_flight: number,
  count: number,
): Promise<CarriedRun> {
  const { asterisk, fixture } = stage;
  await fixture.checkpoint();
  // The bare client's events are none of ours: the node is led only for our runs.
  if (contender === "ours") await fixture.open(in_flight);
  const from = endOfRecords(asterisk.cdr_path);
  const runs: Readonly<Record<Contender, () => Promise<unknown>>> = {
    bare: () => stage.bare.ask({ count, first: (customers += count) - count, in_flight }),
    ours: async () => fixture.checkReached(await runCampaign(fixture, count)),
    straight: () => callStraight(asterisk, { count, in_flight }),
  };
  const { seconds, cpu_ms } = await measure(stage, count, runs[contender]);
  if (contender === "ours") await fixture.shut();
  await awaitRecords(asterisk.cdr_path, from, count);
  const carried = readCarried(asterisk.cdr_path, from, { count, legs: 1, in_flight });
  return { ...carried, contender, in_flight, whole_per_second: count / seconds, cpu_ms };
}

/** A fifth of a second's calls may go at once, see server/calls/leader/node/pace.ts. */
async function runPaced(stage: Stage, rate: number): Promise<PacedRun> {
  const { asterisk, fixture } = stage;
  const count = rate * size.paced_seconds;
  await fixture.checkpoint();
  await fixture.open(calls_max, rate);
  const from = endOfRecords(asterisk.cdr_path);
  const { cpu_ms } = await measure(stage, count, () => runCampaign(fixture, count));
  await fixture.shut();
  await awaitRecords(asterisk.cdr_path, from, count);
  const paced = readInvites(asterisk.cdr_path, from, { count, at_once: rate / 5 });
  console.log(`paced at ${rate}/s: ${paced.per_second.toFixed(1)}/s`);
  return { ...paced, rate, cpu_ms };
}

/** Resolves when every recipient's state is final, with the campaign's id. */
async function runCampaign(fixture: Fixture, count: number): Promise<number> {
  const campaign = await fixture.launch(count);
  const isOver = async () => (await fixture.pending(campaign)) === 0;
  await until("all recipients are final", isOver, { poll_ms, patience_ms });
  return campaign;
}

/** How long it took, and what each process used for it. */
async function measure(
  { pids }: Stage,
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
