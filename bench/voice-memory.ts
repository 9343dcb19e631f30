// Measures the service's memory while hundreds of calls of a voice campaign play one minute of audio: idle,
// with all calls, and after they were hung up; in the sandbox and over a real Asterisk.
// `npm --prefix bench run voice-memory`; `-- --smoke` for a small run.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { installAsterisk } from "../scripts/asterisk/install-asterisk.ts";
import { startAsterisk, type RunningAsterisk } from "../scripts/asterisk/start-asterisk.ts";
import { startCarrier } from "../test/support/sipp.ts";
import { pssOfTree_mb, rssOfTree_mb, settledMemory_mb } from "./lib/memory.ts";
import { until } from "./lib/until.ts";
import { openFixture, type Fixture } from "./voice/fixture.ts";
import { reportMemory, type Memory, type Switch, type Round } from "./voice-memory/report.ts";
import { runBench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const audio_ms = 60_000;
const size = smoke ? { rounds: 1, calls: 20, samples: 2 } : { rounds: 3, calls: 400, samples: 20 };
/** Fast enough that all calls are live long before the first one has played all audio. */
const calls_per_second = 50;
const sample_ms = 250;
const hang_ups_at_once = 20;

await runBench("voice-memory", smoke, async ({ data_dir, postgres, machine, defer }) => {
  installAsterisk(console.log);
  const measureOn = (name: Switch, asterisk: RunningAsterisk | null) =>
    measure(name, postgres.url, { asterisk, data_dir: join(data_dir, `service-${name}`) });
  const sandbox = await measureOn("sandbox", null);
  const asterisk = await startAsterisk({ run_dir: join(data_dir, "asterisk") });
  defer(() => asterisk.stop());
  const carrier = await startCarrier(asterisk, "fast");
  defer(() => carrier.stop());
  const real = await measureOn("asterisk", asterisk);
  return reportMemory([...sandbox, ...real], size, machine);
});

/** Runs every round on one service, so that it is warm in each round but the first. */
async function measure(
  name: Switch,
  database_url: string,
  options: { readonly asterisk: RunningAsterisk | null; readonly data_dir: string },
): Promise<readonly Round[]> {
  const fixture = await openFixture(database_url, { ...options, audio_ms });
  try {
    await fixture.activate(size.calls, calls_per_second);
    const rounds: Round[] = [];
    for (let i = 1; i <= size.rounds; i++) {
      const round = { switch: name, ...(await runRound(fixture)) };
      rounds.push(round);
      console.log(`round ${i}, ${name}: ${round.live.pss_mb.toFixed(1)} MB with all calls`);
    }
    await fixture.deactivate();
    await fixture.checkInvariants();
    return rounds;
  } finally {
    await fixture.close();
  }
}

async function runRound(fixture: Fixture): Promise<Omit<Round, "switch">> {
  const idle = await settledMemory(fixture);
  const campaign = await fixture.launch(size.calls);
  await until("every call plays the audio", async () => {
    return (await fixture.listPlaying()).length === size.calls;
  });
  const live = await maximum(fixture);
  const calls = await fixture.listPlaying();
  if (calls.length < size.calls)
    throw new Error(`only ${calls.length} calls were still live at the end`);
  for (let i = 0; i < calls.length; i += hang_ups_at_once)
    await Promise.all(calls.slice(i, i + hang_ups_at_once).map((id) => fixture.hangUp(id)));
  await until("all recipients are final", async () => (await fixture.pending(campaign)) === 0);
  return { idle, live, after: await settledMemory(fixture) };
}

async function settledMemory({ service: { pid } }: Fixture): Promise<Memory> {
  const pss_mb = await settledMemory_mb(pid, size.samples);
  return { pss_mb, rss_mb: rssOfTree_mb(pid) };
}

async function maximum({ service: { pid } }: Fixture): Promise<Memory> {
  let pss_mb = 0;
  let rss_mb = 0;
  for (let i = 0; i < size.samples; i++) {
    await wait(sample_ms);
    pss_mb = Math.max(pss_mb, pssOfTree_mb(pid));
    rss_mb = Math.max(rss_mb, rssOfTree_mb(pid));
  }
  return { pss_mb, rss_mb };
}
