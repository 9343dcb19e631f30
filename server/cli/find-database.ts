// Finds the database: DATABASE_URL, a running embedded server, or one started for the command.
import { readFileSync, statSync } from "node:fs";
import type { Config } from "../config.ts";
import { database_user } from "../embedded-postgres/create-cluster.ts";
import { clusterPathsIn } from "../embedded-postgres/cluster-paths.ts";
import { liveServer } from "../embedded-postgres/postmaster-pid.ts";
import { startEmbeddedPostgres } from "../embedded-postgres/start-embedded-postgres.ts";

export type FoundDatabase = {
  readonly url: string;
  /** Stops the server if it was started for this command. */
  close(): Promise<void>;
};

/** Returns a database that accepts connections. Throws EmbeddedPostgresError, or the error of reading its password. */
export async function findDatabase(config: Config): Promise<FoundDatabase> {
  const url = config.database_url ?? runningEmbeddedUrl(config.data_dir);
  if (url !== null) return { url, close: async () => {} };
  const started = await startEmbeddedPostgres({
    dataDir: config.data_dir,
    log: (line) => console.error(line),
  });
  return { url: started.url, close: started.stop };
}

/** Reports whether a database exists; doctor must not create one. */
export function databaseExists(config: Config): boolean {
  if (config.database_url !== null) return true;
  return (
    statSync(clusterPathsIn(config.data_dir).cluster_dir, { throwIfNoEntry: false }) !== undefined
  );
}

function runningEmbeddedUrl(dataDir: string): string | null {
  const paths = clusterPathsIn(dataDir);
  const server = liveServer(paths);
  if (server?.status !== "ready" || server.port === null) return null;
  const password = readFileSync(paths.password_file, "utf8").trim();
  return `postgres://${database_user}:${password}@127.0.0.1:${server.port}/${database_user}`;
}
