// Work that may outlast a call and its node leader: understanding the last words of a caller who has hung up, and
// storing an opt-out.
import { setTimeout as delay } from "node:timers/promises";

/** How long a stop waits for the work; the process has 9 s to stop. */
const stop_ms = 5_000;

/** The last words of all calls of this process. */
export type LastWords = {
  /** Aborted when the process waits no longer. */
  readonly over: AbortSignal;
  /** Makes a stop wait for the work, which must not fail. */
  add(work: Promise<void>): void;
  /** Resolves when the work is done, also work that is added meanwhile; after 5 s at the latest. */
  close(): Promise<void>;
};

/** Opens the last words of a process. */
export function openLastWords(): LastWords {
  const over = new AbortController();
  const pending = new Set<Promise<void>>();
  const finish = async () => {
    while (pending.size > 0) await Promise.all(pending);
  };
  return {
    over: over.signal,
    add(work) {
      const added = work.finally(() => pending.delete(added));
      pending.add(added);
    },
    async close() {
      const limit = delay(stop_ms, null, { signal: over.signal }).catch(() => {});
      await Promise.race([finish(), limit]);
      over.abort();
    },
  };
}
