import { setTimeout as wait } from "node:timers/promises";

/**
 * Waits until `holds` returns true, polling every few milliseconds; throws after `seconds`. The default is
 * long enough for a busy machine, and for PostgreSQL to end a frozen process's transaction after a minute.
 */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  seconds = 120,
): Promise<void> {
  const deadline = performance.now() + seconds * 1_000;
  while (!(await holds())) {
    if (performance.now() > deadline)
      throw new Error(`the condition did not become true within ${seconds} s: ${holds.toString()}`);
    await wait(10);
  }
}
