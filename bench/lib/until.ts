import { setTimeout as wait } from "node:timers/promises";

/** Waits until the condition is true, polling every `poll_ms`; throws with its description after `timeout_ms`. */
export async function until(
  what: string,
  isTrue: () => Promise<boolean>,
  { poll_ms = 20, timeout_ms = 180_000 } = {},
): Promise<void> {
  const deadline_ms = performance.now() + timeout_ms;
  while (!(await isTrue())) {
    if (performance.now() > deadline_ms)
      throw new Error(`not reached within ${timeout_ms / 1_000} s: ${what}`);
    await wait(poll_ms);
  }
}
