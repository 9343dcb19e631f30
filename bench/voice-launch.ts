// A voice campaign for a million recipients from a CSV file, beside psql \copy of the same rows:
// `npm --prefix bench run voice-launch`; `-- --smoke` does everything once and small.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../server/embedded-postgres/start-embedded-postgres.ts";
import { dataFolder } from "./lib/data-folder.ts";
import { describeMachine } from "./lib/describe-machine.ts";
import { pssOfTree_mb, settledMemory_mb } from "./lib/memory.ts";
import { layGround, type Ground } from "./voice-launch/ground.ts";
import { reportLaunch, type Round } from "./voice-launch/report.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rows: 5_000, rounds: 1, looks: 2 }
  : { rows: 1_000_000, rounds: 5, looks: 20 };

const dataDir = dataFolder(smoke);
try {
  const report = await measure();
  console.log(report);
  if (!smoke) {
    const date = new Date().toISOString().slice(0, 10);
    await writeFile(join(import.meta.dirname, "results", `${date}-voice-launch.md`), report);
  }
} finally {
  await rm(dataDir, { recursive: true, force: true });
}

async function measure(): Promise<string> {
  const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, "db"), log: () => {} });
  try {
    const ground = await layGround(postgres.url, dataDir, size.rows);
    try {
      const idle_mb = await settledMemory_mb(ground.service.pid, size.looks);
      await ground.launch();
      const rounds: Round[] = [];
      let peak_mb = 0;
      for (let i = 1; i <= size.rounds; i++) {
        const { round, launch_peak_mb } = await runRound(ground, i);
        rounds.push(round);
        peak_mb = Math.max(peak_mb, launch_peak_mb);
      }
      const { rows } = await ground.db.query<{ v: string }>(
        "select setting as v from pg_settings where name = 'server_version'",
      );
      const machine = describeMachine(rows[0]?.v ?? "unknown");
      return reportLaunch({ rounds, idle_mb, peak_mb, rows: size.rows }, machine);
    } finally {
      await ground.close();
    }
  } finally {
    await postgres.stop();
  }
}

/** Both once, each round beginning with the other. */
async function runRound(
  ground: Ground,
  number: number,
): Promise<{ round: Round; launch_peak_mb: number }> {
  const round = { launch: 0, copy: 0 };
  let launch_peak_mb = 0;
  const launch = () => {
    const watch = setInterval(
      () => (launch_peak_mb = Math.max(launch_peak_mb, pssOfTree_mb(ground.service.pid))),
      100,
    );
    return ground.launch().finally(() => clearInterval(watch));
  };
  const names = ["launch", "copy"] as const;
  for (const name of number % 2 === 0 ? names : names.toReversed()) {
    await ground.db.query("truncate voice_recipients");
    await ground.db.query("checkpoint");
    round[name] = name === "launch" ? await launch() : await ground.copy();
    console.log(`round ${number} ${name}: ${round[name].toFixed(2)} s`);
  }
  return { round, launch_peak_mb };
}
