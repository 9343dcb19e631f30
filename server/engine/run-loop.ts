// A loop of background work: iterates as long as there is work, then waits for a notification, the next poll, or the
// poll that it shares with other loops (poll-work.ts).
import type { App } from "./app.ts";
import { openFailureLog } from "./failure-log.ts";
import type { NotificationChannel } from "./notifications.ts";

export type Loop = {
  /** Starts the next iteration if the loop waits. */
  wake(): void;
  /** Aborts `stopping` and resolves when the current iteration has ended. */
  stop(): Promise<void>;
};

/**
 * Runs `iterate` repeatedly; it returns the number of items it processed, and after 0 the loop waits. An
 * iteration that throws is logged and retried at the next poll, so a database outage does not end the loop. A failure that
 * repeats is logged once a minute, and its end once.
 */
export function runLoop(
  app: Pick<App, "log" | "notifications" | "clock">,
  loop: {
    readonly name: string;
    /** Wakes the loop; without it the loop only polls. */
    readonly channel?: NotificationChannel;
    /** Without it, `wake` starts the next iteration. */
    readonly poll_ms?: number;
    /** How much longer than `poll_ms` to wait after an iteration without work that took so long. */
    readonly restMs?: (tookMs: number) => Promise<number>;
    readonly iterate: (stopping: AbortSignal) => Promise<number>;
  },
): Loop {
  const stopping = new AbortController();
  let notified = false;
  let wake = () => {};
  const onNotification = () => {
    notified = true;
    wake();
  };
  if (loop.channel) app.notifications.on(loop.channel, onNotification);

  const rest = async (longer_ms: number) => {
    if (notified || stopping.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const { poll_ms } = loop;
    const timer = poll_ms === undefined ? undefined : setTimeout(resolve, poll_ms + longer_ms);
    await promise;
    clearTimeout(timer);
  };

  const failures = logFailures(app, loop.name);
  const iterate = async (): Promise<number> => {
    notified = false;
    try {
      const processed = await loop.iterate(stopping.signal);
      failures.succeeded();
      return processed;
    } catch (err) {
      failures.failed(err);
      // A notification during the failure does not cause an immediate retry.
      notified = false;
      return 0;
    }
  };

  const restMs = async (took_ms: number): Promise<number> =>
    (await loop.restMs?.(took_ms).catch(() => 0)) ?? 0;

  const run = async () => {
    while (!stopping.signal.aborted) {
      const began_ms = performance.now();
      if ((await iterate()) === 0) await rest(await restMs(performance.now() - began_ms));
    }
  };

  const running = run();
  return {
    wake: () => wake(),
    async stop() {
      stopping.abort();
      wake();
      await running;
    },
  };
}

function logFailures(app: Pick<App, "log" | "clock">, role: string) {
  return openFailureLog(app, {
    fields: { role },
    failed: "background loop iteration failed; retrying",
    succeeded: "background loop works again",
  });
}
