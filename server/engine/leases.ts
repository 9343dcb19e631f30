// Leases with a fencing number: at most one process acts for a number or a node. The database decides
// who holds one; the holder validates by two clocks of its own how long it may still act.
import { randomUUID } from "node:crypto";
import { statement } from "../lib/database/database.ts";
import type { App } from "./app.ts";
import { keepLease, leaseEnd, type LeaseTimes } from "./keep-lease.ts";
import { renewalStatement } from "./renewal-statement.ts";

export type { LeaseTimes } from "./keep-lease.ts";

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
  /** Stops renewing and gives the lease back if it is still ours; one that ran out stays so. Never throws. */
  release(): Promise<void>;
};

/**
 * Takes the lease, or null when somebody else holds it. Each new holder gets the next fence. It is
 * renewed in the background, which keeps no process alive. Throws when the database is away.
 */
export async function acquireLease(
  app: Pick<App, "db" | "log">,
  accountId: number,
  name: string,
  times: LeaseTimes = lease_times,
): Promise<Lease | null> {
  const holder = randomUUID();
  const end = leaseEnd(times);
  const [taken] = await takeLease(app.db.pool, [accountId, name, holder, times.lease_ms]);
  if (!taken || taken.fence === null) return null;
  const { fence } = taken;
  const key = [accountId, name, fence, holder];
  const kept = keepLease(
    times,
    end,
    (within_ms) => renewLease(app.db.pool, [...key, times.lease_ms], within_ms),
    (reason) => app.log.warn({ account_id: accountId, role: name }, `a lease is lost: ${reason}`),
  );
  const lease: Lease = {
    account_id: accountId,
    name,
    fence,
    mayAct: kept.mayAct,
    lost: kept.lost,
    async release() {
      kept.stop();
      // If this fails the lease runs out by itself.
      await giveBackLease(app.db.pool, key, times.lease_ms).catch(() => {});
    },
  };
  if (lease.mayAct()) return lease;
  // The answer took too long to be of use.
  await lease.release();
  return null;
}

/** Whether `error` is the refusal of check_lease or check_job (TL001): nothing was written. */
export function isLeaseLost(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "TL001";
}

const takeLease = statement<{ fence: number | null }>("select take_lease($1, $2, $3, $4) as fence");

const renewLease = renewalStatement(`
  update leases set expires_at = now() + $5 * interval '1 ms'
  where account_id = $1 and name = $2 and fence = $3 and holder = $4 and expires_at > now()`);

const giveBackLease = renewalStatement(`
  update leases set holder = null, expires_at = now()
  where account_id = $1 and name = $2 and fence = $3 and holder = $4 and expires_at > now()`);
