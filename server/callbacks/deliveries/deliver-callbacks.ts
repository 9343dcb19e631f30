// Delivers what endpoints are to be told: one leased deliverer per endpoint, in whichever process gets
// it, so that a bad one delays no other.
import type { App } from "../../engine/app.ts";
import { acquireLease, lease_times, type LeaseTimes } from "../../engine/leases.ts";
import { statement } from "../../lib/database/database.ts";
import type { Deliverer } from "./internal/deliverer.ts";
import { runDeliverer } from "./internal/run-deliverer.ts";

export type Deliverers = {
  /** A turn: begins a deliverer for each endpoint that has work and none elsewhere. Never waits for one. */
  startDue(): Promise<number>;
  /** Lets what is under way end, within seconds, and gives the leases back. Resolves when all are done. */
  stop(): Promise<void>;
};

/** Endpoints one process delivers to at once: the others go to the next process. */
const deliverers_max = 1_000;
/** Of one account, more than it has endpoints of its own: each keeps a lease while a bad one hangs. */
const account_deliverers_max = 64;
/** Of these, to endpoints that fail already: however many an account has, its good ones find a place. */
const failing_deliverers_max = 48;
const page_endpoints = 100;
/** Of one turn: others' backlogs of many accounts at once are passed by in a few. */
const pages_max = 20;
const window_first = 8;

type DueEndpoint = { account_id: number; endpoint_id: number; is_failing: boolean };

const due_endpoints = statement<DueEndpoint>(`
  select c.account_id, c.id as endpoint_id, c.failing_since is not null as is_failing
  from callback_endpoints c
  where c.enabled and c.work_at <= $1 and c.account_id <> all ($2::bigint[])
    and (c.failing_since is null or c.account_id <> all ($3::bigint[]))
    and not exists (
      select from leases l
      where l.account_id = c.account_id and l.name = 'callbacks:' || c.id
        and l.holder is not null and l.expires_at > clock_timestamp())
  order by c.work_at limit ${page_endpoints}`);

type Running = { readonly account: string; done: Promise<void>; wake: () => void };

export function openDeliverers(app: App, times: LeaseTimes = lease_times): Deliverers {
  const stopping = new AbortController();
  const running = new Map<string, Running>();
  const all = countShares(account_deliverers_max);
  const failing = countShares(failing_deliverers_max);
  app.notifications.on("callback_work", (account) => {
    for (const entry of running.values()) if (entry.account === account) entry.wake();
  });
  const isFull = () => stopping.signal.aborted || running.size >= deliverers_max;

  /** False when there is no place for it. */
  const start = (due: DueEndpoint): boolean => {
    const { account_id } = due;
    const subject = `${account_id}:${due.endpoint_id}`;
    if (running.has(subject)) return true;
    const shares = due.is_failing ? [all, failing] : [all];
    if (isFull() || shares.some((share) => share.isFull(account_id))) return false;
    for (const share of shares) share.add(account_id, 1);
    const entry: Running = { account: String(account_id), done: Promise.resolve(), wake: () => {} };
    running.set(subject, entry);
    entry.done = deliver(app, times, due, stopping.signal, (wake) => (entry.wake = wake))
      .catch((err: unknown) => app.log.warn({ err, account_id }, "a lease was not to be had"))
      .finally(() => {
        running.delete(subject);
        for (const share of shares) share.add(account_id, -1);
      });
    return true;
  };

  return {
    async startDue() {
      // What has no place hides nothing behind it: it is left out of the next page.
      for (let page = 0; page < pages_max && !isFull(); page++) {
        const values = [app.clock.now(), all.full(), failing.full()];
        const due = await due_endpoints(app.db.pool, values);
        const left = due.filter((endpoint) => !start(endpoint));
        if (left.length === 0 || due.length < page_endpoints) break;
      }
      // The deliverers work by themselves: there is nothing to go on with here.
      return 0;
    },
    async stop() {
      stopping.abort();
      for (const { wake } of running.values()) wake();
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}

/** Delivers to one endpoint unless another process does. `onWake` is given what makes it look again. */
async function deliver(
  app: App,
  times: LeaseTimes,
  { account_id, endpoint_id }: DueEndpoint,
  stopping: AbortSignal,
  onWake: (wake: () => void) => void,
): Promise<void> {
  const lease = await acquireLease(app, account_id, `callbacks:${endpoint_id}`, times);
  if (!lease) return;
  const deliverer: Deliverer = {
    app,
    lease,
    endpoint_id,
    stopping,
    endpoint: null,
    waiting: [],
    under_way: new Set(),
    results: [],
    resume_at: null,
    disable: null,
    window: window_first,
    wake: () => {},
  };
  onWake(() => deliverer.wake());
  try {
    await runDeliverer(deliverer);
  } catch (err) {
    app.log.error({ err, account_id, subject_id: endpoint_id }, "a deliverer ended early");
  } finally {
    await lease.release();
  }
}

/** How many deliverers each account has, of at most `max`. */
function countShares(max: number) {
  const counts = new Map<number, number>();
  const isFull = (account_id: number) => (counts.get(account_id) ?? 0) >= max;
  return {
    add(account_id: number, change: 1 | -1) {
      const count = (counts.get(account_id) ?? 0) + change;
      if (count > 0) counts.set(account_id, count);
      else counts.delete(account_id);
    },
    isFull,
    full: () => [...counts.keys()].filter(isFull),
  };
}
