// Watches a migrating session from a second one: what blocks it, and how far it is.
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

export type SessionWatch = {
  /** The sessions that blocked the watched one last, described; null if none did since the last call. */
  takeBlockers(): string | null;
  stop(): Promise<void>;
};

/** Shorter than the lock timeout of migrations, so that a wait that times out was seen. */
const poll_ms = 75;
const report_ms = 10_000;
const query_characters = 120;

type Look = { seconds: number; index: string | null; blockers: string | null };

/**
 * Watches the session `pid`, and reports a statement every 10 s while it runs. Reports and ends quietly if the
 * database cannot be watched: a migration does not fail because of it.
 */
export function watchSession(
  url: string,
  pid: number,
  report: (line: string) => void,
): SessionWatch {
  const stopping = new AbortController();
  let blockers: string | null = null;
  const watch = async () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: "trunkline-migrate-watch",
      connectionTimeoutMillis: 5_000,
    });
    client.on("error", () => {}); // The running query reports it.
    await client.connect();
    try {
      let reported_ms = performance.now();
      while (!stopping.signal.aborted) {
        const look = await lookAt(client, pid);
        blockers = look?.blockers ?? blockers;
        if (look && performance.now() - reported_ms >= report_ms) {
          reported_ms = performance.now();
          if (look.seconds >= report_ms / 1_000) report(describe(look));
        }
        await wait(poll_ms, undefined, { signal: stopping.signal }).catch(() => {});
      }
    } finally {
      await client.end();
    }
  };
  const watching = watch().catch((error: unknown) =>
    report(`could not watch the migration: ${(error as Error).message}`),
  );
  return {
    takeBlockers() {
      const taken = blockers;
      blockers = null;
      return taken;
    },
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

function describe({ seconds, index, blockers }: Look): string {
  const progress = index === null ? "" : `; ${index}`;
  const waiting = blockers === null ? "" : `; it waits for ${blockers}`;
  return `the statement has been running for ${Math.round(seconds)} s${progress}${waiting}`;
}

/** Calls pg_blocking_pids only while the session waits, because it briefly stops the lock manager. */
async function lookAt(client: pg.Client, pid: number): Promise<Look | undefined> {
  const { rows } = await client.query<Look>(
    `select extract(epoch from clock_timestamp() - a.query_start)::float8 as seconds,
       (select format('%s: %s %%', p.phase, coalesce(
          100 * p.blocks_done / nullif(p.blocks_total, 0), 100 * p.tuples_done / nullif(p.tuples_total, 0), 0))
        from pg_stat_progress_create_index p where p.pid = a.pid) as index,
       (select string_agg(format('PostgreSQL session %s (application_name %s, from %s, %s, transaction of %s s): %s',
            b.pid, b.application_name, coalesce(host(b.client_addr), 'a local socket'), b.state,
            round(extract(epoch from clock_timestamp() - b.xact_start)),
            left(regexp_replace(b.query, '\\s+', ' ', 'g'), $2)), '; ')
        from unnest(case when a.wait_event_type = 'Lock' then pg_blocking_pids(a.pid) end) p (pid)
        join pg_stat_activity b on b.pid = p.pid) as blockers
     from pg_stat_activity a where a.pid = $1 and a.state = 'active'`,
    [pid, query_characters],
  );
  return rows[0];
}
