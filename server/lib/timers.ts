/** Time, as tests may move it. */
export type Timers = {
  /** Milliseconds since some beginning; never goes back. */
  now(): number;
  /** Runs once, after the delay, unless the answer is called first. Keeps no process alive. */
  schedule(run: () => void, delay_ms: number): () => void;
};

export const systemTimers: Timers = {
  now: () => performance.now(),
  schedule(run, delay_ms) {
    const timer = setTimeout(run, delay_ms).unref();
    return () => clearTimeout(timer);
  },
};
