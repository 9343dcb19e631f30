import type { TestContext } from "node:test";

/**
 * Lets time pass at once for the clocks by which a holder validates its lease, until the test ends; timers
 * go on as they were. The database's clock is the test's to move.
 */
export function passTime(t: TestContext): (ms: number) => void {
  let ahead_ms = 0;
  const monotonic = performance.now.bind(performance);
  const wall = Date.now.bind(Date);
  t.mock.method(performance, "now", () => monotonic() + ahead_ms);
  t.mock.method(Date, "now", () => wall() + ahead_ms);
  return (ms) => void (ahead_ms += ms);
}
