/** Monotonic time and timers, which tests can replace. */
export type Timers = {
  /** Returns milliseconds since an arbitrary start; never decreases. */
  now(): number;
  /** Runs `run` once after the delay; the returned function cancels it. Does not keep the process alive. */
  schedule(run: () => void, delay_ms: number): () => void;
};

export const systemTimers: Timers = {
  now: () => performance.now(),
  schedule(run, delay_ms) {
    const timer = setTimeout(run, delay_ms).unref();
    return () => clearTimeout(timer);
  },
};

export type ManualTimers = {
  readonly timers: Timers;
  /** Moves the clock forward and runs the timers that become due, in order. */
  advance(ms: number): void;
  /** The number of scheduled timers. */
  waiting(): number;
};

/** Opens timers that run only when their owner advances their clock. */
export function manualTimers(): ManualTimers {
  let now_ms = 0;
  let planned: { readonly at_ms: number; readonly run: () => void }[] = [];
  return {
    timers: {
      now: () => now_ms,
      schedule(run, delay_ms) {
        const entry = { at_ms: now_ms + delay_ms, run };
        planned.push(entry);
        return () => void (planned = planned.filter((one) => one !== entry));
      },
    },
    advance(ms) {
      const end_ms = now_ms + ms;
      for (;;) {
        const [next] = planned.toSorted((a, b) => a.at_ms - b.at_ms);
        if (next === undefined || next.at_ms > end_ms) break;
        planned = planned.filter((one) => one !== next);
        now_ms = Math.max(now_ms, next.at_ms);
        next.run();
      }
      now_ms = end_ms;
    },
    waiting: () => planned.length,
  };
}
