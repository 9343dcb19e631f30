import type { Timers } from "../../server/lib/timers.ts";

export type ManualTimers = {
  readonly timers: Timers;
  /** Moves the clock forward and runs the timers that become due, in order. */
  advance(ms: number): void;
  /** The number of scheduled timers. */
  waiting(): number;
};

/** Opens timers that run only when the test advances their clock. */
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
