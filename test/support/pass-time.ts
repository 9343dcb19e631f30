import type { TestContext } from "node:test";

/**
 * Advances the clocks by which a holder checks its lease, until the test ends. Timers and the database's
 * clock are not affected.
 */
export function passTime(t: TestContext): (ms: number) => void {
  let ahead_ms = 0;
  const monotonic = performance.now.bind(performance);
  const wall = Date.now.bind(Date);
  t.mock.method(performance, "now", () => monotonic() + ahead_ms);
  t.mock.method(Date, "now", () => wall() + ahead_ms);
  return (ms) => void (ahead_ms += ms);
}
