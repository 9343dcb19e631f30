import { setTimeout as wait } from "node:timers/promises";

/**
 * Waits until `holds` is true, asking every few milliseconds. `seconds` only keep what will never be true
 * from being waited for without end: a busy machine is given all the time that it may take, and what a
 * frozen process holds in an open transaction PostgreSQL takes from it after a minute.
 */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  seconds = 120,
): Promise<void> {
  const deadline = performance.now() + seconds * 1_000;
  while (!(await holds())) {
    if (performance.now() > deadline)
      throw new Error(`it did not come true within ${seconds} s: ${holds.toString()}`);
    await wait(10);
  }
}
