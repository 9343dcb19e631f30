// Pools of leased workers: finds the resources that have work (chat numbers, voice nodes, callback endpoints),
// acquires the lease of each, and runs a worker under it. Every process has such pools; because of the lease
// only one of them works for a resource. Each starts workers up to its even share of the role's work, and gives back
// what it has beyond it: docs/decisions/2026-11-25-even-shares-of-leased-workers.md.
import { openAccountPlaces } from "./account-places.ts";
import type { App } from "./app.ts";
import { acquireLease, lease_times, this_process, type Lease, type LeaseTimes } from "./leases.ts";
import { openWorkerShare } from "./worker-share.ts";

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
  /** Whether another process can continue the work without a loss; true if it is not given. */
  isMovable?(): boolean;
};

/** A limit that is not given does not apply. */
export type PoolLimits = {
  /** Workers in this process; the other candidates are left to other processes. */
  readonly workers?: number;
  readonly account_workers?: number;
  /** A worker of an account that has all its places ends after this time, so that another candidate gets the place. */
  readonly account_worker_ms?: number;
  /** Workers of an account for failing resources. */
  readonly account_failing_workers?: number;
};

/** Accounts that have all their places, and all places for failing resources. */
export type FullAccounts = { readonly all: number[]; readonly failing: number[] };

export type PoolOptions<Handle extends WorkerHandle> = {
  /** The name of a resource's lease is `<role>:<id>`. */
  readonly role: string;
  readonly times?: LeaseTimes | undefined;
  /** The holder of the leases: this process, if it is not given. */
  readonly holder?: string;
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
  /**
   * Whether to call `startDue` although nothing is due: this process does not take part yet, has candidates beyond its
   * share, or has not looked for a while whether to give back workers.
   */
  isActive(): boolean;
  /** Running workers of the account, or the one of `id`, in this process. */
  handlesOf(accountId: number, id?: number): Handle[];
  /** Stops every worker and resolves when all have ended and released their leases. */
  stop(): Promise<void>;
};

/** Pages per call of `startDue`: enough to skip the backlogs of many full accounts. */
const pages_max = 20;
/** The pause after work was given back that no other process took: they cannot do it, for instance without its driver. */
const unwanted_ms = 60_000;

type Running<Handle> = {
  readonly account_id: number;
  readonly started_ms: number;
  readonly stopping: AbortController;
  done: Promise<void>;
  handle: Handle | null;
};

const keyOf = ({ account_id, id }: Candidate) => `${account_id}:${id}`;

/** Opens a pool; workers start with the first `startDue`. */
export function openLeasedWorkers<Handle extends WorkerHandle>(
  app: Pick<App, "db" | "log">,
  options: PoolOptions<Handle>,
): LeasedWorkers<Handle> {
  const { role, times = lease_times, holder = this_process } = options;
  const share = openWorkerShare(app, role, { times, holder });
  const workers = openWorkers(app, options);
  /** Candidates beyond the share, and since when they are free. */
  let waiting = new Map<string, number>();
  let given_back = new Set<string>();
  let give_back_from_ms = -Infinity;
  let polled_ms = -Infinity;

  /** Whether no other process has taken the candidate for as long as a lease lasts. */
  const isNeglected = (key: string, still: Map<string, number>): boolean => {
    const now_ms = performance.now();
    const since_ms = waiting.get(key) ?? now_ms;
    still.set(key, since_ms);
    if (now_ms - since_ms < times.lease_ms) return false;
    if (given_back.has(key)) give_back_from_ms = now_ms + unwanted_ms;
    return true;
  };
  const giveBack = () => {
    const excess = share.excess(workers.active());
    if (excess > 0 && performance.now() >= give_back_from_ms)
      given_back = new Set(workers.endNewest(excess));
  };

  return {
    isActive() {
      if (!share.takesPart() || waiting.size > 0) return true;
      return workers.active() > 0 && performance.now() - polled_ms >= times.renew_ms;
    },
    async startDue() {
      polled_ms = performance.now();
      const still = new Map<string, number>();
      // The next page excludes the accounts that are full by now, and so shows the candidates behind them.
      for (let page = 0; page < pages_max; page++) {
        const due = workers.isFull() ? [] : await options.findDue(workers.fullAccounts());
        // A later page has only the candidates behind the first.
        if (page === 0) await share.refresh(due.length, workers.active());
        const left = due.filter((candidate) => {
          if (share.hasRoom(workers.active())) return !workers.start(candidate);
          return !isNeglected(keyOf(candidate), still) || !workers.start(candidate);
        });
        if (left.length === 0 || workers.isFull() || !share.hasRoom(workers.active())) break;
      }
      waiting = still;
      giveBack();
      workers.endOldestOfFull();
      return 0;
    },
    handlesOf: workers.handlesOf,
    async stop() {
      // At once, so that the other processes take what the workers release.
      await Promise.all([share.close(), workers.stop()]);
    },
  };
}

/** The running workers of this process. */
function openWorkers<Handle extends WorkerHandle>(
  app: Pick<App, "db" | "log">,
  options: PoolOptions<Handle>,
) {
  const { workers = Infinity, account_workers, account_failing_workers } = options.limits ?? {};
  const { account_worker_ms = Infinity } = options.limits ?? {};
  const running = new Map<string, Running<Handle>>();
  const all = openAccountPlaces(account_workers);
  const failing = openAccountPlaces(account_failing_workers);
  let stopped = false;
  let ending = 0;
  const isFull = () => stopped || running.size >= workers;
  const end = ({ stopping, handle }: Running<Handle>) => {
    if (stopping.signal.aborted) return;
    ending++;
    stopping.abort();
    handle?.wake();
  };

  return {
    isFull,
    fullAccounts: (): FullAccounts => ({ all: all.full(), failing: failing.full() }),
    /** Workers that are not about to end. */
    active: () => running.size - ending,
    /** Returns false when all places for the worker are taken. */
    start(candidate: Candidate): boolean {
      const { account_id, id, is_failing = false } = candidate;
      const key = keyOf(candidate);
      if (running.has(key)) return true;
      const places = is_failing ? [all, failing] : [all];
      if (isFull() || places.some((place) => place.isFull(account_id))) return false;
      for (const place of places) place.add(account_id, 1);
      const entry = openRunning<Handle>(account_id);
      const { stopping } = entry;
      running.set(key, entry);
      const onOpen = (handle: Handle) => {
        entry.handle = handle;
      };
      const worker = { stopping: stopping.signal, onOpen };
      entry.done = runWorker(app, options, { account_id, id }, worker).finally(() => {
        running.delete(key);
        if (stopping.signal.aborted) ending--;
        for (const place of places) place.add(account_id, -1);
      });
      return true;
    },
    /** Ends up to `count` movable workers and returns their keys. */
    endNewest(count: number): string[] {
      const newest = movableOf(running).slice(-count);
      for (const [, entry] of newest) end(entry);
      return newest.map(([key]) => key);
    },
    /** Ends the oldest worker of each full account, if its time is over: its resource is then behind those that wait. */
    endOldestOfFull() {
      const until_ms = performance.now() - account_worker_ms;
      const oldest = all.full().flatMap((account_id) => oldestOf(running, account_id) ?? []);
      for (const entry of oldest) if (entry.started_ms <= until_ms) end(entry);
    },
    handlesOf: (accountId: number, id?: number) => handlesIn(running, accountId, id),
    async stop() {
      stopped = true;
      for (const entry of running.values()) end(entry);
      await Promise.all(Array.from(running.values(), ({ done }) => done));
    },
  };
}

function openRunning<Handle>(account_id: number): Running<Handle> {
  const stopping = new AbortController();
  const started_ms = performance.now();
  return { account_id, started_ms, stopping, done: Promise.resolve(), handle: null };
}

/** Returns the workers that are not about to end and can move, the oldest first. */
function movableOf<Handle extends WorkerHandle>(running: ReadonlyMap<string, Running<Handle>>) {
  return [...running].filter(
    ([, { stopping, handle }]) => !stopping.signal.aborted && (handle?.isMovable?.() ?? true),
  );
}

/** Returns the account's oldest worker that is not about to end; none that has not begun, which would not release its lease. */
function oldestOf<Handle>(running: ReadonlyMap<string, Running<Handle>>, accountId: number) {
  const oldest = [...running.values()].find(
    ({ account_id, stopping }) => account_id === accountId && !stopping.signal.aborted,
  );
  return oldest?.handle === null ? undefined : oldest;
}

function handlesIn<Handle>(
  running: ReadonlyMap<string, Running<Handle>>,
  accountId: number,
  id?: number,
): Handle[] {
  const entries =
    id === undefined
      ? Array.from(running.values()).filter(({ account_id }) => account_id === accountId)
      : [running.get(`${accountId}:${id}`)];
  return entries.flatMap((entry) => entry?.handle ?? []);
}

/** Runs one worker if the lease is free. Never throws. */
async function runWorker<Handle extends WorkerHandle>(
  app: Pick<App, "db" | "log">,
  { role, times = lease_times, holder, work }: PoolOptions<Handle>,
  { account_id, id }: Candidate,
  worker: WorkerContext<Handle>,
): Promise<void> {
  const about = { account_id, subject_id: id, role };
  const lease = await acquireLease(app, account_id, `${role}:${id}`, times, holder).catch(
    (err: unknown) => {
      app.log.warn({ err, ...about }, "could not acquire lease");
      return null;
    },
  );
  if (!lease) return;
  // An expired lease shows the next holder that work was interrupted: by a loss, a failure, or by the holder before,
  // if this one was to end while it acquired the lease.
  if (worker.stopping.aborted) return lease.abandon();
  try {
    await work(lease, id, worker);
    if (!lease.lost.aborted) await lease.release();
  } catch (err) {
    app.log.error({ err, ...about }, "worker failed");
    await lease.abandon();
  }
}
