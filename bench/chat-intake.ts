// Campaigns of 100,000 recipients in one JSON body and of a million from a CSV file, beside psql \copy of
// the same rows: `npm --prefix bench run chat-intake`; `-- --smoke` does everything once and small.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../server/embedded-postgres/start-embedded-postgres.ts";
import { checkLedger } from "../test/support/check-invariants.ts";
import { openFixture, type Fixture } from "./chat-intake/fixture.ts";
import { reportIntake, type Figures, type Round } from "./chat-intake/report.ts";
import { dataFolder } from "./lib/data-folder.ts";
import { describeMachine } from "./lib/describe-machine.ts";
import { pssOfTree_mb, settledMemory_mb } from "./lib/memory.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rows: { json: 2_000, csv: 5_000 }, rounds: 1, looks: 2 }
  : { rows: { json: 100_000, csv: 1_000_000 }, rounds: 5, looks: 20 };

const dataDir = dataFolder(smoke);
try {
  const report = await measure();
  console.log(report);
  if (!smoke) {
    const date = new Date().toISOString().slice(0, 10);
    await writeFile(join(import.meta.dirname, "results", `${date}-chat-intake.md`), report);
  }
} finally {
  await rm(dataDir, { recursive: true, force: true });
}

async function measure(): Promise<string> {
  const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, "db"), log: () => {} });
  try {
    const fixture = await openFixture(postgres.url, dataDir, size.rows);
    try {
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
      const figures: Figures = { rounds, idle_mb, peak_mb, rows: size.rows };
      await checkLedger(fixture.db);
      const { rows } = await fixture.db.query<{ v: string }>(
        "select setting as v from pg_settings where name = 'server_version'",
      );
      return reportIntake(figures, describeMachine(rows[0]?.v ?? "unknown"));
    } finally {
      await fixture.close();
    }
  } finally {
    await postgres.stop();
  }
}

/** Everybody once, each round beginning with another. */
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
  const first = number % contenders.length;
  for (const [name, run] of [...contenders.slice(first), ...contenders.slice(0, first)]) {
    await fixture.db.query("truncate chat_recipients");
    await fixture.db.query("checkpoint");
    round[name] = await run();
    console.log(`round ${number} ${name}: ${round[name].toFixed(2)} s`);
  }
  return { round: round as Round, csv_peak_mb };
}
