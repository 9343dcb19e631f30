// Waits until nothing is in progress for a frozen account.
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { statement, type Database } from "../../lib/database/database.ts";

/** A process may serve writes of an account this long after it was frozen: its caches of tokens and routes last 5 s. */
const cached_ms = 6_000;
const poll_ms = 500;

/** An answer or a test message is sent without a lease; by its time limits, its outcome is stored within a minute. */
const busy_statement = statement<{ what: string; count: number }>(`
  select 'live calls' as what, count(*)::int as count from calls
  where account_id = $1 and stage not in ('queued', 'ended')
  union all
  select 'running senders and deliverers', count(*)::int from leases
  where account_id = $1 and holder is not null and expires_at > clock_timestamp()
  union all
  select 'running jobs', count(*)::int from jobs where account_id = $1 and lease_until > now()
  union all
  select 'answers or test messages of the last minute', count(*)::int from audit_entries
  where account_id = $1 and action in ('chat_reply.answered', 'chat_test.sent')
    and at > clock_timestamp() - interval '1 minute'`);

/**
 * Waits until no call is live, no worker runs, no single message is being sent and no request that began before the
 * freeze can still write. Throws an Error that names what is in progress after `wait_ms`.
 */
export async function drainAccount(
  db: Database,
  account_id: number,
  { frozen_at, now, wait_ms }: { frozen_at: Date; now: Date; wait_ms: number },
): Promise<void> {
  const deadline_ms = performance.now() + wait_ms;
  await wait(Math.max(0, frozen_at.getTime() + cached_ms - now.getTime()));
  for (;;) {
    const busy = await findBusy(db, account_id);
    if (busy.length === 0) break;
    if (performance.now() >= deadline_ms)
      throw new Error(
        `Account ${account_id} is frozen, but not at rest yet: ${busy.join(", ")}. Try again, with a longer --wait if needed; or end the freeze with: trunkline account unfreeze ${account_id}`,
      );
    await wait(poll_ms);
  }
  await awaitOlderTransactions(db.pool, deadline_ms);
  // One of them may have begun something.
  const busy = await findBusy(db, account_id);
  if (busy.length > 0)
    throw new Error(`Account ${account_id} is not at rest: ${busy.join(", ")}; try again`);
}

async function findBusy(db: Database, account_id: number): Promise<string[]> {
  const found = await busy_statement(db.pool, [account_id]);
  return found.filter(({ count }) => count > 0).map(({ what, count }) => `${count} ${what}`);
}

/** Waits for all transactions that may not see the freeze: those that have begun before this one. */
async function awaitOlderTransactions(pool: pg.Pool, deadline_ms: number): Promise<void> {
  // The 32 bits that ages are counted by: a server that has given out more than 2^32 IDs has a larger xid8.
  const { rows } = await pool.query<{ xid: string }>(
    "select pg_current_xact_id()::xid::text as xid",
  );
  for (;;) {
    const older = await pool.query(
      `select from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
         and (age(backend_xid) >= age($1::text::xid) or age(backend_xmin) >= age($1::text::xid))
       limit 1`,
      [rows[0]!.xid],
    );
    if (older.rows.length === 0) return;
    if (performance.now() >= deadline_ms)
      throw new Error("A transaction that is older than the freeze still runs; try again later");
    await wait(poll_ms);
  }
}
