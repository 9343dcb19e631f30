import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import type { Place } from "./place.ts";

/** Held for as long as this process is the one that uses the server. */
export type Ownership = {
  /** The connection that holds the lock; in the database `postgres`. */
  readonly client: pg.Client;
  /** True when another process took the server over while the connection was lost. */
  isLost(): boolean;
  /** Ends the connection, for good. */
  release(): Promise<void>;
};

/** Any fixed number. Advisory locks are per database: this one is apart from the program's own. */
const lock_key = 7_286_542_002;
/** A killed owner's lock goes when PostgreSQL has noticed that its connection is closed. */
const lock_patience_ms = 1_000;
const retry_ms = 100;
const application = "trunkline-owner-";

/**
 * Takes the advisory lock that says "a live process uses this server", on a connection of its own
 * that is made anew when it breaks (PostgreSQL restarts itself after a crash of one of its
 * processes). Throws EmbeddedPostgresError when a live process has it, and what pg throws.
 */
export async function claimOwnership(
  place: Place,
  url: string,
  log: (line: string) => void,
): Promise<Ownership> {
  let state: "held" | "lost" | "released" = "held";
  let client = await lock(place, url, lock_patience_ms, onBreak);

  function onBreak(): void {
    if (state === "held") void restore();
  }

  async function restore(): Promise<void> {
    log("PostgreSQL broke the connection; waiting for it to come back");
    while (state === "held") {
      await delay(retry_ms);
      try {
        client = await lock(place, url, 0, onBreak);
        log("PostgreSQL is back");
        break;
      } catch (error) {
        // Anything else means that it is not back yet.
        if (!(error instanceof EmbeddedPostgresError)) continue;
        state = "lost";
        log(`PostgreSQL was taken over by another process. ${error.message}`);
      }
    }
    // Released while a new connection was being made: that one has to end as well.
    if (isReleased()) await client.end();
  }

  function isReleased(): boolean {
    return state === "released";
  }

  return {
    client,
    isLost: () => state === "lost",
    release: async () => {
      state = "released";
      await client.end();
    },
  };
}

/** A connection with the lock. `onBreak` is called once when it ends unasked. */
async function lock(
  place: Place,
  url: string,
  patience_ms: number,
  onBreak: () => void,
): Promise<pg.Client> {
  const client = await connect(url);
  try {
    const deadline_ms = performance.now() + patience_ms;
    while (!(await tryLock(client))) {
      if (performance.now() > deadline_ms) throw await alreadyRunning(place, client);
      await delay(retry_ms);
    }
  } catch (error) {
    await client.end();
    throw error;
  }
  client.once("end", onBreak);
  return client;
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

async function alreadyRunning(place: Place, client: pg.Client): Promise<EmbeddedPostgresError> {
  const { rows } = await client.query<{ owner: string }>(
    `select a.application_name as owner from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted and a.application_name like $1`,
    [`${application}%`],
  );
  const pid = rows[0]?.owner.slice(application.length) ?? "unknown";
  return new EmbeddedPostgresError(
    `Trunkline is already running on ${place.data_dir} (pid ${pid}). ` +
      `Stop it first, or choose another DATA_DIR for this one.`,
  );
}
