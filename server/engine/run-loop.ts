// A loop of background work: as long as there is some it goes on, else it waits for a notification or the
// next poll.
import type { App } from "./app.ts";
import type { NotificationChannel } from "./notifications.ts";

export type Loop = {
  /** Lets the turn that runs come to its end, then ends the loop. */
  stop(): Promise<void>;
};

/**
 * Runs `turn` again and again; it returns how much it did. A turn that throws is logged and tried
 * again after the poll's time, so a database that is away ends nothing.
 */
export function runLoop(
  app: App,
  loop: {
    readonly name: string;
    /** Without one it goes by the poll alone. */
    readonly channel?: NotificationChannel;
    readonly poll_ms: number;
    readonly turn: (stopping: AbortSignal) => Promise<number>;
  },
): Loop {
  const stopping = new AbortController();
  let notified = false;
  let wake = () => {};
  const hear = () => {
    notified = true;
    wake();
  };
  if (loop.channel) app.notifications.on(loop.channel, hear);

  const rest = async () => {
    if (notified || stopping.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const timer = setTimeout(resolve, loop.poll_ms);
    await promise;
    clearTimeout(timer);
  };

  const turn = async (): Promise<number> => {
    notified = false;
    try {
      return await loop.turn(stopping.signal);
    } catch (err) {
      app.log.error({ err, role: loop.name }, "a turn of background work failed");
      // A notification during the failure is no reason to fail again at once.
      notified = false;
      return 0;
    }
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      if ((await turn()) === 0) await rest();
    }
  };

  const running = run();
  return {
    async stop() {
      stopping.abort();
      wake();
      await running;
    },
  };
}
