import type { Clock } from "../../server/lib/clock.ts";

export type TestClock = Clock & {
  set(now: Date | string): void;
  advance(ms: number): void;
  /** Returns to real time. */
  release(): void;
};

/** Opens a clock that follows real time until a test sets it, and then stands still. */
export function testClock(): TestClock {
  let fixed: number | null = null;
  return {
    now: () => new Date(fixed ?? Date.now()),
    set: (now) => void (fixed = new Date(now).getTime()),
    advance: (ms) => void (fixed = (fixed ?? Date.now()) + ms),
    release: () => void (fixed = null),
  };
}
