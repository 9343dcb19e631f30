// Leases with fencing tokens: at most one process works for a chat number, node or endpoint. The database
// decides who holds a lease; the holder tracks by two clocks of its own how long it may rely on it.
import { randomUUID } from "node:crypto";
import { statement } from "../lib/database/database.ts";
import type { App } from "./app.ts";
import { keepLease, leaseEnd, type LeaseTimes } from "./keep-lease.ts";
import { renewalStatement } from "./renewal-statement.ts";

export type { LeaseTimes } from "./keep-lease.ts";

export const lease_times: LeaseTimes = { lease_ms: 10_000, renew_ms: 3_000, margin_ms: 4_000 };

/** This process, as the holder of its leases. */
export const this_process: string = randomUUID();

export type Lease = {
  readonly account_id: number;
  readonly name: string;
  /** The fencing token: every write of the holder passes it to check_lease in its statement or transaction. */
  readonly fence: number;
  /**
   * True while the holder may start external work: until the margin before the end, by the monotonic and
   * the wall clock. False after loss or release. Does no I/O.
   */
  mayProceed(): boolean;
  /** Aborted permanently when a renewal is refused or the margin is reached. */
  readonly lost: AbortSignal;
  /** Stops renewing and releases the lease if it is still held; an expired lease stays expired. Never throws. */
  release(): Promise<void>;
  /** Like release, but the lease is left expired, as by a holder that died: the next one recovers what it left. */
  abandon(): Promise<void>;
};

/**
 * Acquires a lease; returns null when another process holds it. Each new holder gets the next fencing
 * token. The lease is renewed in the background, which does not keep the process alive. Throws when the
 * database is unavailable.
 */
export async function acquireLease(
  app: Pick<App, "db" | "log">,
  accountId: number,
  name: string,
  times: LeaseTimes = lease_times,
  holder = this_process,
): Promise<Lease | null> {
  const end = leaseEnd(times);
  const [taken] = await runAcquireLease(app.db.pool, [accountId, name, holder, times.lease_ms]);
  if (!taken || taken.fence === null) return null;
  const { fence } = taken;
  const key = [accountId, name, fence, holder];
  const kept = keepLease(
    times,
    end,
    (within_ms) => renewLease(app.db.pool, [...key, times.lease_ms], within_ms),
    (reason) => app.log.warn({ account_id: accountId, role: name }, `lease lost: ${reason}`),
  );
  const lease: Lease = {
    account_id: accountId,
    name,
    fence,
    mayProceed: kept.mayProceed,
    lost: kept.lost,
    // If these fail, the lease expires.
    async release() {
      kept.stop();
      await releaseLease(app.db.pool, key, times.lease_ms).catch(() => {});
    },
    async abandon() {
      kept.stop();
      await abandonLease(app.db.pool, key, times.lease_ms).catch(() => {});
    },
  };
  if (lease.mayProceed()) return lease;
  // The database answered too late: the lease is already within its margin.
  await lease.abandon();
  return null;
}

/** Returns whether check_lease or check_job raised `error` (TL001), so that nothing was written. */
export function isLeaseLost(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "TL001";
}

const runAcquireLease = statement<{ fence: number | null }>(
  "select acquire_lease($1, $2, $3, $4) as fence",
);

const renewLease = renewalStatement(`
  update leases set expires_at = now() + $5 * interval '1 ms'
  where account_id = $1 and name = $2 and fence = $3 and holder = $4 and expires_at > now()`);

const releaseLease = renewalStatement(`
  update leases set holder = null, expires_at = now()
  where account_id = $1 and name = $2 and fence = $3 and holder = $4 and expires_at > now()`);

const abandonLease = renewalStatement(`
  update leases set expires_at = now()
  where account_id = $1 and name = $2 and fence = $3 and holder = $4 and expires_at > now()`);
