// Sends the deliveries of callback endpoints: one leased deliverer per endpoint, in any process, so that a
// failing endpoint delays no other.
import type { App } from "../../engine/app.ts";
import {
  openLeasedWorkers,
  type Candidate,
  type LeasedWorkers,
  type PoolLimits,
} from "../../engine/leased-workers.ts";
import type { LeaseTimes } from "../../engine/leases.ts";
import { isUnfrozen } from "../../engine/poll-work.ts";
import { statement } from "../../lib/database/database.ts";
import { runDeliverer } from "./internal/run-deliverer.ts";

export type Deliverers = LeasedWorkers;

const limits = {
  workers: 1_000,
  // More than the account's endpoint limit, so that each can have a deliverer while failing ones hang.
  account_workers: 64,
  // Endpoints of campaigns are not limited: those beyond the places alternate with the others. Long enough that slow
  // receivers answer in it.
  account_worker_ms: 60_000,
  // Reserves places for an account's working endpoints, however many others fail.
  account_failing_workers: 48,
} as const satisfies PoolLimits;

const due_endpoints = statement<Candidate>(`
  select c.account_id, c.id, c.failing_since is not null as is_failing
  from callback_endpoints c
  where c.enabled and c.work_at <= $1 and c.account_id <> all ($2::bigint[])
    and (c.failing_since is null or c.account_id <> all ($3::bigint[]))
    and ${isUnfrozen("c")}
    and not exists (
      select from leases l
      where l.account_id = c.account_id and l.name = 'callbacks:' || c.id
        and l.holder is not null and l.expires_at > clock_timestamp())
  order by c.work_at limit 100`);

/** When deliverers have work: see poll-work.ts. */
export const due_deliverers = [
  `from callback_endpoints c where c.enabled and c.work_at <= $1 and ${isUnfrozen("c")} order by c.work_at`,
];

/** Opens the deliverers of this process; a stop aborts requests in flight within seconds. */
export function openDeliverers(app: App, times?: LeaseTimes): Deliverers {
  const deliverers = openLeasedWorkers(app, {
    role: "callbacks",
    times,
    limits,
    findDue: (full) => due_endpoints(app.db.pool, [app.clock.now(), full.all, full.failing]),
    work: (lease, id, worker) => runDeliverer(app, lease, id, worker),
  });
  app.notifications.on("callback_work", (account) => {
    for (const handle of deliverers.handlesOf(Number(account))) handle.wake();
  });
  return deliverers;
}
