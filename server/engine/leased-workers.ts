// Pools of leased workers: finds the resources that have work (chat numbers, voice nodes, callback endpoints),
// acquires the lease of each, and runs a worker under it. Every process has such pools; because of the lease
// only one of them works for a resource.
import { openAccountPlaces } from "./account-places.ts";
import type { App } from "./app.ts";
import { acquireLease, lease_times, type Lease, type LeaseTimes } from "./leases.ts";

/** A resource that has work. */
export type Candidate = {
  readonly account_id: number;
  readonly id: number;
  /** Work for it has been failing: such resources never occupy all of an account's places. */
  readonly is_failing?: boolean;
};

/** Wakes a running worker. */
export type WorkerHandle = {
  /** Makes the worker check for work or for the stop immediately. */
  wake(): void;
};

/** A limit that is not given does not apply. */
export type PoolLimits = {
  /** Workers in this process; the other candidates are left to other processes. */
  readonly workers?: number;
  readonly account_workers?: number;
  /** Workers of an account for failing resources. */
  readonly account_failing_workers?: number;
};

/** Accounts that have all their places, and all places for failing resources. */
export type FullAccounts = { readonly all: number[]; readonly failing: number[] };

export type PoolOptions<Handle extends WorkerHandle> = {
  /** The name of a resource's lease is `<role>:<id>`. */
  readonly role: string;
  readonly times?: LeaseTimes | undefined;
  readonly limits?: PoolLimits;
  /** One page of candidates whose lease is free, without those of full accounts. */
  readonly findDue: (full: FullAccounts) => Promise<readonly Candidate[]>;
  /**
   * Works until nothing is left to do, the lease is lost or `stopping` is aborted. Calls `onOpen` once it
   * can be woken.
   */
  readonly work: (lease: Lease, id: number, worker: WorkerContext<Handle>) => Promise<void>;
};

export type WorkerContext<Handle extends WorkerHandle = WorkerHandle> = {
  readonly stopping: AbortSignal;
  onOpen(handle: Handle): void;
};

export type LeasedWorkers<Handle extends WorkerHandle = WorkerHandle> = {
  /**
   * Finds candidates once and starts a worker for each that has a place and a free lease; does not wait for
   * them. Returns 0, so that its loop waits for the next poll.
   */
  startDue(): Promise<number>;
  /** Running workers of the account, or the one of `id`, in this process. */
  handlesOf(accountId: number, id?: number): Handle[];
  /** Stops every worker and resolves when all have ended and released their leases. */
  stop(): Promise<void>;
};

/** Pages per call of `startDue`: enough to skip the backlogs of many full accounts. */
const pages_max = 20;

type Running<Handle> = { readonly account_id: number; done: Promise<void>; handle: Handle | null };

/** Opens a pool; workers start with the first `startDue`. */
export function openLeasedWorkers<Handle extends WorkerHandle>(
  app: Pick<App, "db" | "log">,
  options: PoolOptions<Handle>,
): LeasedWorkers<Handle> {
  const { workers = Infinity, account_workers, account_failing_workers } = options.limits ?? {};
  const stopping = new AbortController();
  const running = new Map<string, Running<Handle>>();
  const all = openAccountPlaces(account_workers);
  const failing = openAccountPlaces(account_failing_workers);
  const isFull = () => stopping.signal.aborted || running.size >= workers;

  /** Returns false when all places for the worker are taken. */
  const start = ({ account_id, id, is_failing = false }: Candidate): boolean => {
    const key = `${account_id}:${id}`;
    if (running.has(key)) return true;
    const places = is_failing ? [all, failing] : [all];
    if (isFull() || places.some((place) => place.isFull(account_id))) return false;
    for (const place of places) place.add(account_id, 1);
    const entry: Running<Handle> = { account_id, done: Promise.resolve(), handle: null };
    running.set(key, entry);
    const onOpen = (handle: Handle) => {
      entry.handle = handle;
    };
    const worker = { stopping: stopping.signal, onOpen };
    entry.done = runWorker(app, options, { account_id, id }, worker).finally(() => {
      running.delete(key);
      for (const place of places) place.add(account_id, -1);
    });
    return true;
  };

  const handlesOf = (accountId: number, id?: number): Handle[] => {
    const entries =
      id === undefined
        ? Array.from(running.values()).filter(({ account_id }) => account_id === accountId)
        : [running.get(`${accountId}:${id}`)];
    return entries.flatMap((entry) => entry?.handle ?? []);
  };

  return {
    async startDue() {
      // The next page excludes the accounts that are full by now, and so shows the candidates behind them.
      for (let page = 0; page < pages_max && !isFull(); page++) {
        const due = await options.findDue({ all: all.full(), failing: failing.full() });
        const left = due.filter((candidate) => !start(candidate));
        if (left.length === 0) break;
      }
      return 0;
    },
    handlesOf,
    async stop() {
      stopping.abort();
      for (const { handle } of running.values()) handle?.wake();
      await Promise.all(Array.from(running.values(), ({ done }) => done));
    },
  };
}

/** Runs one worker if the lease is free. Never throws. */
async function runWorker<Handle extends WorkerHandle>(
  app: Pick<App, "db" | "log">,
  { role, times = lease_times, work }: PoolOptions<Handle>,
  { account_id, id }: Candidate,
  worker: WorkerContext<Handle>,
): Promise<void> {
  const about = { account_id, subject_id: id, role };
  const lease = await acquireLease(app, account_id, `${role}:${id}`, times).catch(
    (err: unknown) => {
      app.log.warn({ err, ...about }, "could not acquire lease");
      return null;
    },
  );
  if (!lease) return;
  try {
    await work(lease, id, worker);
  } catch (err) {
    app.log.error({ err, ...about }, "worker failed");
  } finally {
    // A lost lease is left to expire: an expired lease shows the next holder that work was interrupted.
    if (!lease.lost.aborted) await lease.release();
  }
}
