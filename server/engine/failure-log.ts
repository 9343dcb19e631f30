// Keeps work that is retried every second from filling the log while its cause lasts.
import type { App } from "./app.ts";

/** How often a failure that repeats is logged. */
const log_again_ms = 60_000;

export type FailureLog = {
  failed(err: unknown): void;
  succeeded(): void;
};

/**
 * Logs a failure that repeats once a minute, another one immediately, and the end of the failures once, each with
 * `fields` and the number of failures.
 */
export function openFailureLog(
  { log, clock }: Pick<App, "log" | "clock">,
  messages: {
    readonly fields: Readonly<Record<string, unknown>>;
    readonly failed: string;
    readonly succeeded: string;
  },
): FailureLog {
  let logged: { readonly reason: string; readonly at_ms: number } | undefined;
  let count = 0;
  return {
    failed(err) {
      count++;
      const { code, message } = err as NodeJS.ErrnoException;
      const reason = code ?? message;
      const at_ms = clock.now().getTime();
      if (logged?.reason === reason && at_ms - logged.at_ms < log_again_ms) return;
      logged = { reason, at_ms };
      log.error({ err, ...messages.fields, count }, messages.failed);
    },
    succeeded() {
      if (logged) log.info({ ...messages.fields, count }, messages.succeeded);
      logged = undefined;
      count = 0;
    },
  };
}
