import { setTimeout as wait } from "node:timers/promises";

/** Waits until it is true, asking every few milliseconds. Throws, with what was waited for, after `patience_ms`. */
export async function until(
  what: string,
  isTrue: () => Promise<boolean>,
  { poll_ms = 20, patience_ms = 180_000 } = {},
): Promise<void> {
  const deadline_ms = performance.now() + patience_ms;
  while (!(await isTrue())) {
    if (performance.now() > deadline_ms)
      throw new Error(`it did not come about in ${patience_ms / 1_000} s: ${what}`);
    await wait(poll_ms);
  }
}
