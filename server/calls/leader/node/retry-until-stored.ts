import { setTimeout as delay } from "node:timers/promises";
import { isLeaseLost } from "../../../engine/leases.ts";
import type { Leader } from "./leader.ts";

const retry_ms = 200;

/** Retries `work` until the database responds. Throws once another node leader owns the lease or the call. */
export async function retryUntilStored<Answer>(
  { app, lease }: Pick<Leader, "app" | "lease">,
  work: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isLeaseLost(error) || lease.lost.aborted) throw error;
      app.log.warn({ err: error }, "could not store a call's transition; retrying");
      await delay(retry_ms);
    }
  }
}
