// Measures the creation of campaigns with 100,000 recipients in one JSON body and a million from a CSV file,
// compared with psql \copy of the same rows: `npm --prefix bench run chat-intake`; `-- --smoke` for a small run.
import { checkLedger } from "../test/support/check-invariants.ts";
import { openFixture, type Fixture } from "./chat-intake/fixture.ts";
import { reportIntake, type Round } from "./chat-intake/report.ts";
import { rotate } from "./lib/rotate.ts";
import { pssOfTree_mb, settledMemory_mb } from "./lib/memory.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rows: { json: 2_000, csv: 5_000 }, rounds: 1, looks: 2 }
  : { rows: { json: 100_000, csv: 1_000_000 }, rounds: 5, looks: 20 };

await runBench("chat-intake", smoke, measure);

async function measure({ data_dir, postgres, machine, defer }: Bench): Promise<string> {
  const fixture = await openFixture(postgres.url, data_dir, size.rows);
  defer(() => fixture.close());
  const idle_mb = await settledMemory_mb(fixture.service.pid, size.looks);
  await fixture.postJson();
  await fixture.postCsv();
  const rounds: Round[] = [];
  let peak_mb = 0;
  for (let i = 1; i <= size.rounds; i++) {
    const { round, csv_peak_mb } = await runRound(fixture, i);
    rounds.push(round);
    peak_mb = Math.max(peak_mb, csv_peak_mb);
  }
  await checkLedger(fixture.db);
  return reportIntake({ rounds, idle_mb, peak_mb, rows: size.rows }, machine);
}

/** Runs each contender once; each round starts with a different one. */
async function runRound(
  fixture: Fixture,
  number: number,
): Promise<{ round: Round; csv_peak_mb: number }> {
  const round: Record<string, number> = {};
  let csv_peak_mb = 0;
  const contenders: [keyof Round, () => Promise<number>][] = [
    ["json", () => fixture.postJson()],
    ["copy_json", () => fixture.copy("json")],
    [
      "csv",
      async () => {
        const watch = setInterval(
          () => (csv_peak_mb = Math.max(csv_peak_mb, pssOfTree_mb(fixture.service.pid))),
          100,
        );
        return fixture.postCsv().finally(() => clearInterval(watch));
      },
    ],
    ["copy_csv", () => fixture.copy("csv")],
  ];
  for (const [name, run] of rotate(contenders, number)) {
    await fixture.db.query("truncate chat_recipients");
    await fixture.db.query("checkpoint");
    round[name] = await run();
    console.log(`round ${number} ${name}: ${round[name].toFixed(2)} s`);
  }
  return { round: round as Round, csv_peak_mb };
}
