import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import type { ClusterPaths } from "./cluster-paths.ts";

/** Held while this process is the one that uses the server. */
export type Ownership = {
  /** The connection that holds the lock; in the database `postgres`. */
  readonly client: pg.Client;
  /** True when another process took the server over while the connection was broken. */
  isLost(): boolean;
  /** Stops reconnecting; resolves when no reconnection is in progress. */
  settle(): Promise<void>;
  /** Closes the connection, and thereby releases the claim. */
  release(): Promise<void>;
};

/** An arbitrary fixed key. Advisory locks are per database, so it cannot collide with the program's own. */
const lock_key = 7_286_542_002;
/** PostgreSQL releases a killed owner's lock once it notices the closed connection. */
const lock_patience_ms = 1_000;
const retry_min_ms = 100;
const retry_max_ms = 5_000;
const application = "trunkline-owner-";

/**
 * Acquires, on its own connection, the advisory lock that marks the server as used by a live process. When the
 * connection breaks, `revive` ensures that a server runs, and the lock is acquired again; neither ever throws
 * out of here. Throws EmbeddedPostgresError if a live process has the lock, or pg's error if it cannot connect.
 */
export async function claimOwnership(
  paths: ClusterPaths,
  url: string,
  revive: () => Promise<void>,
  log: (line: string) => void,
): Promise<Ownership> {
  let state: "held" | "lost" | "settled" = "held";
  let restoring = Promise.resolve();
  const first = await takeLock(url, lock_patience_ms, onBreak);
  if (typeof first === "string") throw alreadyRunning(paths, first);
  let client = first;

  function onBreak(): void {
    if (state === "held") restoring = restore();
  }

  async function restore(): Promise<void> {
    log("lost the connection to PostgreSQL; restoring it");
    let logged = "";
    for (let pause_ms = retry_min_ms; state === "held"; pause_ms *= 2) {
      await delay(Math.min(pause_ms, retry_max_ms));
      try {
        await revive();
        const taken = await takeLock(url, 0, onBreak);
        if (typeof taken === "string") return lose(taken);
        client = taken;
        return log("the connection to PostgreSQL is restored");
      } catch (error) {
        const { message } = error as Error;
        if (message !== logged) log(`PostgreSQL is not available yet: ${message}`);
        logged = message;
      }
    }
  }

  function lose(holder: string): void {
    state = "lost";
    log(`another process took over PostgreSQL meanwhile. ${alreadyRunning(paths, holder).message}`);
  }

  return {
    client,
    isLost: () => state === "lost",
    settle: () => {
      if (state === "held") state = "settled";
      return restoring;
    },
    release: () => client.end(),
  };
}

/** Returns a connection with the lock, or the name of its holder. `onBreak` is called when the connection ends. */
async function takeLock(
  url: string,
  patience_ms: number,
  onBreak: () => void,
): Promise<pg.Client | string> {
  const client = await connect(url);
  let locked = false;
  try {
    const deadline_ms = performance.now() + patience_ms;
    while (!(locked = await tryLock(client))) {
      if (performance.now() > deadline_ms) return await holderPid(client);
      await delay(retry_min_ms);
    }
    client.once("end", onBreak);
    return client;
  } finally {
    if (!locked) await client.end();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: `${application}${process.pid}`,
    connectionTimeoutMillis: 5_000,
    query_timeout: 30_000,
    keepAlive: true,
  });
  client.on("error", () => {}); // "end" follows, and the query that was running reports it.
  await client.connect();
  return client;
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    "select pg_try_advisory_lock($1) as locked",
    [lock_key],
  );
  return rows[0]!.locked;
}

async function holderPid(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ owner: string }>(
    `select a.application_name as owner from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted and a.application_name like $1`,
    [`${application}%`],
  );
  return rows[0]?.owner.slice(application.length) ?? "unknown";
}

function alreadyRunning(paths: ClusterPaths, holder: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Trunkline is already running on ${paths.data_dir} (pid ${holder}). ` +
      `Stop it first, or use another DATA_DIR.`,
  );
}
