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
