// Measures the launch of a voice campaign for a million recipients from a CSV file, compared with psql \copy
// of the same rows: `npm --prefix bench run voice-launch`; `-- --smoke` for a small run.
import { pssOfTree_mb, settledMemory_mb } from "./lib/memory.ts";
import { openFixture, type Fixture } from "./voice-launch/fixture.ts";
import { reportLaunch, type Round } from "./voice-launch/report.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rows: 5_000, rounds: 1, looks: 2 }
  : { rows: 1_000_000, rounds: 5, looks: 20 };

await runBench("voice-launch", smoke, measure);

async function measure({ data_dir, postgres, machine, defer }: Bench): Promise<string> {
  const fixture = await openFixture(postgres.url, data_dir, size.rows);
  defer(() => fixture.close());
  const idle_mb = await settledMemory_mb(fixture.service.pid, size.looks);
  await fixture.launch();
  const rounds: Round[] = [];
  let peak_mb = 0;
  for (let i = 1; i <= size.rounds; i++) {
    const { round, launch_peak_mb } = await runRound(fixture, i);
    rounds.push(round);
    peak_mb = Math.max(peak_mb, launch_peak_mb);
  }
  return reportLaunch({ rounds, idle_mb, peak_mb, rows: size.rows }, machine);
}

/** Runs both contenders once; rounds alternate which one starts. */
async function runRound(
  fixture: Fixture,
  number: number,
): Promise<{ round: Round; launch_peak_mb: number }> {
  const round = { launch: 0, copy: 0 };
  let launch_peak_mb = 0;
  const launch = () => {
    const watch = setInterval(
      () => (launch_peak_mb = Math.max(launch_peak_mb, pssOfTree_mb(fixture.service.pid))),
      100,
    );
    return fixture.launch().finally(() => clearInterval(watch));
  };
  const names = ["launch", "copy"] as const;
  for (const name of number % 2 === 0 ? names : names.toReversed()) {
    await fixture.db.query("truncate voice_recipients");
    await fixture.db.query("checkpoint");
    round[name] = name === "launch" ? await launch() : await fixture.copy();
    console.log(`round ${number} ${name}: ${round[name].toFixed(2)} s`);
  }
  return { round, launch_peak_mb };
}
