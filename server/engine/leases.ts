// Leases with a fencing number: at most one process acts for a number, a relay, a node. The database
// decides who holds one; the holder judges by two clocks of its own how long it may still act.
import { randomUUID } from "node:crypto";
import type { QueryConfig } from "pg";
import { statement } from "../lib/database.ts";
import type { App } from "./app.ts";

export type LeaseTimes = {
  /** How long the database keeps others out after the last renewal. */
  readonly lease_ms: number;
  readonly renew_ms: number;
  /** The holder stops acting so long before the end. */
  readonly margin_ms: number;
};

export const lease_times: LeaseTimes = { lease_ms: 10_000, renew_ms: 3_000, margin_ms: 4_000 };

export type Lease = {
  readonly account_id: number;
  readonly name: string;
  /** Every write of the holder passes it to check_lease, in the same statement or transaction. */
  readonly fence: number;
  /**
   * True while the holder may begin something outside: by the monotonic and the wall clock, the
   * margin before the end. Cheap, no I/O; false from the loss or the release on.
   */
  mayAct(): boolean;
  /** Aborted, for good, as soon as a renewal is refused or the margin is reached. */
  readonly lost: AbortSignal;
  /** Stops renewing and gives the lease back if it is still ours. Never throws. */
  release(): Promise<void>;
};

/** A renewal that failed because the database is away is tried again so soon. */
const retry_ms = 500;

/**
 * Takes the lease, or null when somebody else holds it. Each new holder gets the next fence. It is
 * renewed in the background, which keeps no process alive. Throws when the database is away.
 */
export async function acquireLease(
  app: App,
  accountId: number,
  name: string,
  times: LeaseTimes = lease_times,
): Promise<Lease | null> {
  const holder = randomUUID();
  const end = leaseEnd(times);
  const values = [accountId, name, holder, times.lease_ms];
  const [taken] = await takeLease(app.db.pool, values);
  if (!taken) return null;
  const held = { account_id: accountId, name, holder, fence: taken.fence };
  const lease = holdLease(app, held, times, end);
  if (lease.mayAct()) return lease;
  // The answer took too long to be of use.
  await lease.release();
  return null;
}

/** Whether `error` is check_lease's refusal (TL001): another holder may have the lease, nothing was written. */
export function isLeaseLost(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "TL001";
}

// A lease that somebody holds is left alone by the first condition, without waiting for its row; the
// second decides between those that come at once. "Now" is read back from the new expiry, because
// Citus takes no clock in the update.
const takeLease = statement<{ fence: number }>(`
  insert into leases as l (account_id, name, fence, holder, expires_at)
  select $1::bigint, $2::text, 1, $3::uuid, clock_timestamp() + $4 * interval '1 ms'
  where not exists (
    select from leases h
    where h.account_id = $1 and h.name = $2 and h.holder is not null
      and h.expires_at > clock_timestamp())
  on conflict (account_id, name) do update
    set fence = l.fence + 1, holder = excluded.holder, expires_at = excluded.expires_at
    where l.holder is null or l.expires_at <= excluded.expires_at - $4 * interval '1 ms'
  returning l.fence`);

const renew_sql = `
  update leases set expires_at = now() + $5 * interval '1 ms'
  where account_id = $1 and name = $2 and fence = $3 and holder = $4 and expires_at > now()`;

const give_back_sql = `
  update leases set holder = null, expires_at = now()
  where account_id = $1 and name = $2 and fence = $3 and holder = $4`;

/** When the holder stops acting, by both clocks. A suspended machine may stop the one, a set clock moves the other. */
type LeaseEnd = { readonly monotonic_ms: number; readonly wall_ms: number };

/** Taken before the request is sent: the database counts from later on. */
function leaseEnd({ lease_ms, margin_ms }: LeaseTimes): LeaseEnd {
  const usable_ms = lease_ms - margin_ms;
  return { monotonic_ms: performance.now() + usable_ms, wall_ms: Date.now() + usable_ms };
}

function leftMs(end: LeaseEnd): number {
  return Math.min(end.monotonic_ms - performance.now(), end.wall_ms - Date.now());
}

function holdLease(
  app: App,
  held: { account_id: number; name: string; holder: string; fence: number },
  times: LeaseTimes,
  first: LeaseEnd,
): Lease {
  const { account_id, name, fence, holder } = held;
  const key = [account_id, name, fence, holder];
  const lost = new AbortController();
  let end = first;
  let released = false;
  let renewal: NodeJS.Timeout | undefined;
  let watch: NodeJS.Timeout | undefined;

  const isOver = () => released || lost.signal.aborted || leftMs(end) <= 0;
  const stop = () => {
    clearTimeout(renewal);
    clearTimeout(watch);
  };
  const lose = (reason: string) => {
    if (released || lost.signal.aborted) return;
    stop();
    app.log.warn({ account_id, role: name }, `a lease is lost: ${reason}`);
    lost.abort();
  };
  const watchEnd = () => {
    clearTimeout(watch);
    if (isOver()) lose("no renewal in time");
    else watch = setTimeout(watchEnd, leftMs(end)).unref();
  };
  const renewIn = (delay_ms: number) => {
    renewal = setTimeout(() => void renew(), delay_ms).unref();
  };
  const renew = async () => {
    // A process that was frozen past its lease learns it here, and asks for nothing more.
    if (isOver()) return lose("no renewal in time");
    const next = leaseEnd(times);
    try {
      // Half of what is left, so that a connection that hangs leaves time for another.
      const renewed = await ask(app, renew_sql, [...key, times.lease_ms], leftMs(end) / 2);
      if (!renewed) return lose("it is another's or has expired");
      if (isOver()) return lose("the renewal was answered too late");
      end = next;
      watchEnd();
      renewIn(times.renew_ms);
    } catch {
      // The pool has logged it.
      if (!isOver()) renewIn(Math.min(retry_ms, times.renew_ms));
    }
  };

  watchEnd();
  renewIn(times.renew_ms);
  return {
    account_id,
    name,
    fence,
    lost: lost.signal,
    mayAct: () => !isOver(),
    async release() {
      if (released) return;
      released = true;
      stop();
      // If this fails the lease runs out by itself.
      await ask(app, give_back_sql, key, times.lease_ms).catch(() => {});
    },
  };
}

/** Whether the statement found our lease. */
async function ask(app: App, text: string, values: unknown[], within_ms: number): Promise<boolean> {
  // pg takes a time-out with each query; its types do not know.
  const query: QueryConfig & { query_timeout: number } = {
    text,
    values,
    query_timeout: Math.ceil(within_ms),
  };
  return (await app.db.pool.query(query)).rowCount === 1;
}
