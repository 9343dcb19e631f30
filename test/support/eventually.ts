import { setTimeout as wait } from "node:timers/promises";

/** Waits until `holds` is true, asking every few milliseconds; fails after `seconds`. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  seconds = 10,
): Promise<void> {
  const deadline = performance.now() + seconds * 1_000;
  while (!(await holds())) {
    if (performance.now() > deadline)
      throw new Error(`it did not come true within ${seconds} s: ${holds.toString()}`);
    await wait(10);
  }
}
