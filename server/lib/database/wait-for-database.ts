import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../log.ts";
import { isDatabaseUnavailable } from "./database-errors.ts";

const retry_min_ms = 250;
const retry_max_ms = 5_000;

/**
 * Runs `work`, and repeats it for as long as the database is unavailable. `onUnavailable` is called before the
 * first repetition. Logs each reason once. Any other error is thrown.
 */
export async function waitForDatabase<T>(
  log: Log,
  work: () => Promise<T>,
  onUnavailable: () => Promise<void>,
): Promise<T> {
  let logged: string | undefined;
  for (let pause_ms = retry_min_ms; ; pause_ms = Math.min(2 * pause_ms, retry_max_ms)) {
    try {
      const result = await work();
      if (logged !== undefined) log.warn("the database is available");
      return result;
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      const reason = message || code || "no reason given";
      if (reason !== logged) log.warn(`the database is not available: ${reason}; waiting for it`);
      if (logged === undefined) await onUnavailable();
      logged = reason;
      await wait(pause_ms);
    }
  }
}
