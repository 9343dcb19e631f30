// Stores what is known of a message that was sent. An error would make the client send it again.
import { setTimeout as delay } from "node:timers/promises";
import type { App } from "../../../engine/app.ts";

/** Doubles after each attempt up to the maximum: 20 attempts take about a quarter of an hour. */
const retry_first_ms = 1_000;
const retry_max_ms = 60_000;
const attempts_max = 20;

/**
 * Runs `store`. If it fails, logs why and repeats it in the background until it succeeds, for a quarter of an hour or
 * until the process stops. Never throws. `store` may run again after its commit, so it must have no second effect.
 */
export async function storeOutcome(
  app: App,
  about: Readonly<Record<string, unknown>>,
  store: () => Promise<void>,
): Promise<void> {
  try {
    await store();
  } catch (err) {
    app.log.warn({ err, ...about }, "could not store the outcome of a message; retrying");
    void retryInBackground(app, about, store);
  }
}

async function retryInBackground(
  app: App,
  about: Readonly<Record<string, unknown>>,
  store: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await delay(Math.min(retry_first_ms * 2 ** (attempt - 1), retry_max_ms), undefined, {
      ref: false,
    });
    try {
      return await store();
    } catch (err) {
      if (attempt < attempts_max && !app.db.pool.ending) continue;
      app.log.error({ err, ...about }, "the outcome of a message was not stored");
      return;
    }
  }
}
