// The even share of one process in the leased workers of a role: the leases that are held and those that are free,
// divided by the processes. A process shows that it takes part by a lease of its own, which expires with the others
// when it is killed or frozen. Why so: docs/decisions/2026-11-25-even-shares-of-leased-workers.md.
import { statement } from "../lib/database/database.ts";
import type { App } from "./app.ts";
import { acquireLease, type Lease, type LeaseTimes } from "./leases.ts";

/** The account of leases that belong to the installation. */
const operator_account_id = 0;

export type WorkerShare = {
  /** Whether the other processes count this one. */
  takesPart(): boolean;
  /**
   * Takes part, and updates the share from the role's leases and the number of `due` free ones, unless there is neither
   * one nor one of this process.
   */
  refresh(due: number, active: number): Promise<void>;
  /** Whether this process, with `active` workers, may start one more within its share. */
  hasRoom(active: number): boolean;
  /** Returns how many of the `active` workers to give back now, so that the processes become even. */
  excess(active: number): number;
  /** Gives the share to the other processes. Never throws. */
  close(): Promise<void>;
};

/** Opens the share of the holder's pool of a role; each share is rounded up. */
export function openWorkerShare(
  app: Pick<App, "db" | "log">,
  role: string,
  { times, holder }: { readonly times: LeaseTimes; readonly holder: string },
): WorkerShare {
  const name = `pool:${role}:${holder}`;
  let lease: Lease | null = null;
  let closed = false;
  let refreshing: Promise<unknown> = Promise.resolve();
  let share = Infinity;
  /** The fewest leases that a process holds. */
  let least = 0;
  let over_since_ms: number | null = null;

  const takesPart = () => lease !== null && !lease.lost.aborted;
  const join = async () => {
    if (takesPart()) return;
    lease = await acquireLease(app, operator_account_id, name, times, holder);
  };
  return {
    takesPart,
    async refresh(due, active) {
      if (closed) return;
      await (refreshing = join());
      if (due === 0 && active === 0) return;
      const [found] = await findShare(app.db.pool, [role]);
      const { held, pools } = found!;
      share = Math.ceil((held + due) / pools);
      least = found!.least;
    },
    hasRoom: (active) => active < share,
    excess(active) {
      // A move that makes nothing more even would only interrupt the work.
      const excess = Math.max(active - share, active - least > 1 ? 1 : 0);
      if (excess === 0) over_since_ms = null;
      else over_since_ms ??= performance.now();
      if (over_since_ms === null || performance.now() - over_since_ms < times.renew_ms) return 0;
      over_since_ms = null;
      return excess;
    },
    async close() {
      closed = true;
      await refreshing.catch(() => {});
      await lease?.release();
    },
  };
}

// Reads the held leases by their index.
const findShare = statement<{ held: number; pools: number; least: number }>(`
  select coalesce(sum(leases), 0)::int as held,
    greatest(1, count(*) filter (where takes_part))::int as pools,
    coalesce(min(leases) filter (where takes_part), 0)::int as least
  from (
    select count(*) filter (where starts_with(name, $1 || ':')) as leases,
      bool_or(account_id = ${operator_account_id} and starts_with(name, 'pool:' || $1 || ':')) as takes_part
    from leases where holder is not null and expires_at > clock_timestamp() group by holder) holders`);
