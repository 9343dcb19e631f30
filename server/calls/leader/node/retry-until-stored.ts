import { setTimeout as delay } from "node:timers/promises";
import { isLeaseLost } from "../../../engine/leases.ts";
import type { Leader } from "./leader.ts";

const retry_ms = 200;

/** Retries `work` until the database answers. Throws once the lease, or the call, is another node leader's. */
export async function retryUntilStored<Answer>(
  { app, lease }: Leader,
  work: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isLeaseLost(error) || lease.lost.aborted) throw error;
      app.log.warn({ err: error }, "could not store a transition of a call; retrying");
      await delay(retry_ms);
    }
  }
}
