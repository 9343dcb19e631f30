// Renews a lease in the background and tracks, without I/O, how long its holder may rely on it.

export type LeaseTimes = {
  /** How long the lease excludes others after its last renewal. */
  readonly lease_ms: number;
  readonly renew_ms: number;
  /** How long before the end the holder stops starting external work. */
  readonly margin_ms: number;
};

export type KeptLease = {
  /** True while the holder may start external work; false after loss or stop. Does no I/O. */
  mayProceed(): boolean;
  /** Aborted permanently when a renewal is refused or the margin is reached. */
  readonly lost: AbortSignal;
  /** Stops renewing. */
  stop(): void;
};

/** When the lease becomes unusable, by two clocks: a suspended machine may stop one, an adjustment moves the other. */
export type LeaseEnd = { readonly monotonic_ms: number; readonly wall_ms: number };

/** The delay before a renewal is retried when the database is unavailable. */
const retry_ms = 500;

/** Returns the end of a lease that is acquired now. Call it before the request is sent, so that it is never late. */
export function leaseEnd({ lease_ms, margin_ms }: LeaseTimes): LeaseEnd {
  const usable_ms = lease_ms - margin_ms;
  return { monotonic_ms: performance.now() + usable_ms, wall_ms: Date.now() + usable_ms };
}

/**
 * Renews a lease in the background; its timers do not keep the process alive. `renew` resolves with whether
 * the lease was still ours, within the given time, and throws when the database is unavailable. `onLost` is
 * called at most once, with the reason.
 */
export function keepLease(
  times: LeaseTimes,
  first: LeaseEnd,
  renew: (within_ms: number) => Promise<boolean>,
  onLost: (reason: string) => void,
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
    onLost(reason);
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
    // A process that was frozen past the end of its lease detects it here and does not renew.
    if (isOver()) return lose("no renewal in time");
    const next = leaseEnd(times);
    try {
      // Half of the remaining time, so that another attempt is possible after a connection that hangs.
      if (!(await renew(leftMs(end) / 2))) return lose("expired or acquired by another process");
      if (isOver()) return lose("renewal completed too late");
      end = next;
      watchEnd();
      renewIn(times.renew_ms);
    } catch {
      // The pool has logged the error.
      if (isOver()) lose("no renewal in time");
      else renewIn(Math.min(retry_ms, times.renew_ms));
    }
  };

  watchEnd();
  renewIn(times.renew_ms);
  return {
    mayProceed: () => !isOver(),
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
