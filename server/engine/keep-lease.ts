// Keeps a lease of the database's by renewing it, and knows without asking how long it may be used.

export type LeaseTimes = {
  /** How long the database keeps others out after the last renewal. */
  readonly lease_ms: number;
  readonly renew_ms: number;
  /** The holder stops acting so long before the end. */
  readonly margin_ms: number;
};

export type KeptLease = {
  /** True while the holder may begin something outside. Cheap, no I/O; false from loss or stop on. */
  mayAct(): boolean;
  /** Aborted, for good, as soon as a renewal is refused or the margin is reached. */
  readonly lost: AbortSignal;
  /** Renews no more. */
  stop(): void;
};

/** When the holder stops acting, by both clocks: a suspended machine may stop the one, a set clock moves the other. */
export type LeaseEnd = { readonly monotonic_ms: number; readonly wall_ms: number };

/** A renewal that failed because the database is away is tried again so soon. */
const retry_ms = 500;

/** To be taken before the request is sent: the database counts from later on. */
export function leaseEnd({ lease_ms, margin_ms }: LeaseTimes): LeaseEnd {
  const usable_ms = lease_ms - margin_ms;
  return { monotonic_ms: performance.now() + usable_ms, wall_ms: Date.now() + usable_ms };
}

/**
 * Renews in the background, which keeps no process alive. `renew` answers whether the lease was still
 * ours, within the time it is given, and throws when the database is away; `tellLoss` hears why.
 */
export function keepLease(
  times: LeaseTimes,
  first: LeaseEnd,
  renew: (within_ms: number) => Promise<boolean>,
  tellLoss: (reason: string) => void,
): KeptLease {
  const lost = new AbortController();
  let end = first;
  let stopped = false;
  let renewal: NodeJS.Timeout | undefined;
  let watch: NodeJS.Timeout | undefined;

  const isOver = () => stopped || lost.signal.aborted || leftMs(end) <= 0;
  const stopTimers = () => {
    clearTimeout(renewal);
    clearTimeout(watch);
  };
  const lose = (reason: string) => {
    if (stopped || lost.signal.aborted) return;
    stopTimers();
    tellLoss(reason);
    lost.abort();
  };
  const watchEnd = () => {
    clearTimeout(watch);
    if (isOver()) lose("no renewal in time");
    else watch = setTimeout(watchEnd, Math.max(0, leftMs(end))).unref();
  };
  const renewIn = (delay_ms: number) => {
    renewal = setTimeout(() => void renewNow(), delay_ms).unref();
  };
  const renewNow = async () => {
    // A process that was frozen past its lease learns it here, and asks for nothing more.
    if (isOver()) return lose("no renewal in time");
    const next = leaseEnd(times);
    try {
      // Half of what is left, so that a connection that hangs leaves time for another.
      if (!(await renew(leftMs(end) / 2))) return lose("it is another's or has expired");
      if (isOver()) return lose("the renewal was answered too late");
      end = next;
      watchEnd();
      renewIn(times.renew_ms);
    } catch {
      // The pool has logged it.
      if (isOver()) lose("no renewal in time");
      else renewIn(Math.min(retry_ms, times.renew_ms));
    }
  };

  watchEnd();
  renewIn(times.renew_ms);
  return {
    mayAct: () => !isOver(),
    lost: lost.signal,
    stop() {
      stopped = true;
      stopTimers();
    },
  };
}

function leftMs(end: LeaseEnd): number {
  return Math.min(end.monotonic_ms - performance.now(), end.wall_ms - Date.now());
}
