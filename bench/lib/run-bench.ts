import { execFileSync } from "node:child_process";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { dataFolder } from "./data-folder.ts";
import { describeMachine } from "./describe-machine.ts";

export type Bench = {
  /** An empty folder, removed at the end. */
  readonly data_dir: string;
  /** A new cluster in `data_dir`, which the benchmark may stop earlier. */
  readonly postgres: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  /** Facts about the machine, one per line. */
  readonly machine: readonly string[];
  /** Calls `stop` at the end, in reverse order of the calls of `defer`. */
  defer(stop: () => Promise<unknown>): void;
};

/** Prints the report that `measure` returns and, except in a smoke run, writes it to results/. */
export async function runBench(
  name: string,
  smoke: boolean,
  measure: (bench: Bench) => Promise<string>,
): Promise<void> {
  const data_dir = dataFolder(smoke);
  const stops: (() => Promise<unknown>)[] = [];
  try {
    if (!smoke) buildServer();
    // Asterisk and PostgreSQL started by root run as other users.
    await chmod(data_dir, 0o755);
    const postgres = await startEmbeddedPostgres({
      dataDir: join(data_dir, "db"),
      log: () => {},
    });
    stops.push(() => postgres.stop());
    const machine = describeMachine(await readVersion(postgres.url));
    const defer = (stop: () => Promise<unknown>) => void stops.push(stop);
    const report = await measure({ data_dir, postgres, machine, defer });
    console.log(report);
    if (!smoke) {
      const date = new Date().toISOString().slice(0, 10);
      await writeFile(join(import.meta.dirname, "../results", `${date}-${name}.md`), report);
    }
  } finally {
    for (const stop of stops.toReversed()) await stop();
    await rm(data_dir, { recursive: true, force: true });
  }
}

/** Builds what operators run. A small run uses a build that is there. */
function buildServer(): void {
  execFileSync(process.execPath, [join(import.meta.dirname, "../../scripts/build-server.ts")]);
}

async function readVersion(database_url: string): Promise<string> {
  const db = new pg.Client({ connectionString: database_url });
  await db.connect();
  const { rows } = await db.query<{ server_version: string }>("show server_version");
  await db.end();
  return rows[0]!.server_version;
}
