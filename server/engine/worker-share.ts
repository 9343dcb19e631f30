// The even share of one process in the leased workers of a role: the leases that are held and those that are free,
// divided by the processes. A process shows that it takes part by a lease of its own, which expires with the others
// when it is killed or frozen. Why so: docs/decisions/2026-11-25-even-shares-of-leased-workers.md.
import { randomUUID } from "node:crypto";
import { statement } from "../lib/database/database.ts";
import type { App } from "./app.ts";
import { acquireLease, type Lease, type LeaseTimes } from "./leases.ts";

/** The account of leases that belong to the installation. */
const operator_account_id = 0;

export type WorkerShare = {
  /**
   * Takes part, and updates the share from the role's leases and the number of `due` free ones, unless there is neither
   * one nor one of this process.
   */
  refresh(due: number, active: number): Promise<void>;
  /** Whether this process, with `active` workers, may start one more within its share. */
  hasRoom(active: number): boolean;
  /** Returns how many of the `active` workers to give back now: those beyond the share for a while. */
  excess(active: number): number;
  /** Gives the share to the other processes. Never throws. */
  close(): Promise<void>;
};

/** Opens the share of one pool; the shares of all pools of a role add up to all of its work. */
export function openWorkerShare(
  app: Pick<App, "db" | "log">,
  role: string,
  times: LeaseTimes,
): WorkerShare {
  const name = `pool:${role}:${randomUUID()}`;
  let lease: Lease | null = null;
  let closed = false;
  let refreshing: Promise<unknown> = Promise.resolve();
  let share = Infinity;
  let over_since_ms: number | null = null;

  const join = async () => {
    if (lease && !lease.lost.aborted) return;
    lease = await acquireLease(app, operator_account_id, name, times);
  };
  return {
    async refresh(due, active) {
      if (closed) return;
      await (refreshing = join());
      if (due === 0 && active === 0) return;
      const [found] = await findShare(app.db.pool, [role, name]);
      const { held, pools, before } = found!;
      const total = held + due;
      share = Math.floor(total / pools) + (before < total % pools ? 1 : 0);
    },
    hasRoom: (active) => active < share,
    excess(active) {
      if (active <= share) over_since_ms = null;
      else over_since_ms ??= performance.now();
      if (over_since_ms === null || performance.now() - over_since_ms < times.renew_ms) return 0;
      over_since_ms = null;
      return active - share;
    },
    async close() {
      closed = true;
      await refreshing.catch(() => {});
      await lease?.release();
    },
  };
}

// Reads the held leases by their index. The order of the names decides which pools get one of the remainder.
const findShare = statement<{ held: number; pools: number; before: number }>(`
  select count(*) filter (where starts_with(name, $1 || ':'))::int as held,
    greatest(1, count(*) filter (where starts_with(name, 'pool:' || $1 || ':')))::int as pools,
    count(*) filter (where starts_with(name, 'pool:' || $1 || ':') and name < $2)::int as before
  from leases where holder is not null and expires_at > clock_timestamp()`);
