// The advisory lock that serializes migrating processes.
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { MigrationError } from "./migration-error.ts";

/** Arbitrary fixed key. */
const lock_key = 7_286_542_001;
const poll_ms = 200;
const report_ms = 10_000;
/** The name of a migrating session. PostgreSQL ends it when its process freezes, so others may wait for it. */
export const migrating_application = "trunkline-migrate";

/**
 * Takes the lock until the session ends. Waits for another migrating process as long as that runs, and reports
 * it; throws MigrationError that names the holder if any other session holds the lock for `wait_ms`.
 *
 * Polls outside a transaction: a waiting statement would hold a snapshot, which `create index concurrently` of
 * the migrating process would wait for.
 */
export async function takeLock(
  client: pg.Client,
  wait_ms: number,
  report: (line: string) => void,
): Promise<void> {
  const began_ms = performance.now();
  let reported_ms = -Infinity;
  while (!(await tryLock(client))) {
    const holder = await findHolder(client);
    const now_ms = performance.now();
    if (holder && holder.name !== migrating_application && now_ms - began_ms >= wait_ms) {
      throw new MigrationError(
        `could not acquire the lock for migrations within ${Math.round(wait_ms / 1_000)} s: ` +
          `it is held by ${describe(holder)}. ` +
          `If that process is frozen, run: select pg_terminate_backend(${holder.pid})`,
      );
    }
    if (holder && now_ms - reported_ms >= report_ms) {
      report(`waiting for the lock for migrations, which is held by ${describe(holder)}`);
      reported_ms = now_ms;
    }
    await wait(poll_ms);
  }
}

type Holder = { pid: number; name: string; address: string };

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(
    "select pg_try_advisory_lock($1) as taken",
    [lock_key],
  );
  return rows[0]!.taken;
}

async function findHolder(client: pg.Client): Promise<Holder | undefined> {
  const { rows } = await client.query<Holder>(
    `select a.pid, a.application_name as name, coalesce(host(a.client_addr), 'a local socket') as address
     from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and l.objsubid = 1
       and l.database = (select oid from pg_database where datname = current_database())
       and l.classid::bigint << 32 | l.objid::bigint = $1`,
    [lock_key],
  );
  return rows[0];
}

function describe({ pid, name, address }: Holder): string {
  return `PostgreSQL session ${pid} (application_name ${name}, from ${address})`;
}
