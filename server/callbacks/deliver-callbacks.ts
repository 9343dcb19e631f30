// Delivers what endpoints are to be told: one leased deliverer per endpoint, in whichever process gets
// it, so that a bad one delays no other.
import type { App } from "../engine/app.ts";
import { acquireLease, lease_times, type LeaseTimes } from "../engine/leases.ts";
import { statement } from "../lib/database.ts";
import type { Deliverer } from "./delivery/deliverer.ts";
import { runDeliverer } from "./delivery/run-deliverer.ts";

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
const window_first = 8;

const due_endpoints = statement<{ account_id: number; endpoint_id: number }>(`
  select c.account_id, c.id as endpoint_id from callback_endpoints c
  where c.enabled and c.work_at <= $1 and c.account_id <> all ($2::bigint[])
    and not exists (
      select from leases l
      where l.account_id = c.account_id and l.name = 'callbacks:' || c.id
        and l.holder is not null and l.expires_at > clock_timestamp())
  order by c.work_at limit 100`);

export function openDeliverers(app: App, times: LeaseTimes = lease_times): Deliverers {
  const stopping = new AbortController();
  const running = new Map<string, { account: string; done: Promise<void>; wake: () => void }>();
  const shares = countShares();
  app.hints.on("callback_work", (account) => {
    for (const entry of running.values()) if (entry.account === account) entry.wake();
  });

  const start = async (account_id: number, endpoint_id: number): Promise<void> => {
    const lease = await acquireLease(app, account_id, `callbacks:${endpoint_id}`, times);
    if (!lease) return;
    const deliverer: Deliverer = {
      app,
      lease,
      endpoint_id,
      stopping: stopping.signal,
      endpoint: null,
      waiting: [],
      under_way: new Set(),
      results: [],
      resume_at: null,
      disable: null,
      window: window_first,
      wake: () => {},
    };
    const entry = running.get(`${account_id}:${endpoint_id}`);
    if (entry) entry.wake = () => deliverer.wake();
    try {
      await runDeliverer(deliverer);
    } catch (err) {
      app.log.error({ err, account_id, subject_id: endpoint_id }, "a deliverer ended early");
    } finally {
      await lease.release();
    }
  };

  return {
    async startDue() {
      const due = await due_endpoints(app.db.pool, [app.clock.now(), shares.full()]);
      for (const { account_id, endpoint_id } of due) {
        const subject = `${account_id}:${endpoint_id}`;
        if (stopping.signal.aborted || running.size >= deliverers_max) break;
        if (running.has(subject) || shares.isFull(account_id)) continue;
        shares.add(account_id, 1);
        const entry = { account: String(account_id), done: Promise.resolve(), wake: () => {} };
        running.set(subject, entry);
        entry.done = start(account_id, endpoint_id)
          .catch((err: unknown) => app.log.warn({ err, account_id }, "a lease was not to be had"))
          .finally(() => {
            running.delete(subject);
            shares.add(account_id, -1);
          });
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

/** How many deliverers each account has. */
function countShares() {
  const counts = new Map<number, number>();
  const isFull = (account_id: number) => (counts.get(account_id) ?? 0) >= account_deliverers_max;
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
