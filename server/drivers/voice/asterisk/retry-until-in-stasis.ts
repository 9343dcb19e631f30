import { setTimeout as wait } from "node:timers/promises";
import type { AriResponse } from "./ari-client.ts";

/** A leg that was answered while no session was connected enters Stasis within half a second. */
const timeout_ms = 2_000;
const retry_ms = 50;

/** Repeats a request for up to 2 s while its status is in `not_ready`: the leg is still in the dialplan. */
export async function retryUntilInStasis(
  request: () => Promise<AriResponse>,
  not_ready: readonly number[],
): Promise<AriResponse> {
  const deadline = performance.now() + timeout_ms;
  for (;;) {
    const response = await request();
    if (!not_ready.includes(response.status) || performance.now() > deadline) return response;
    await wait(retry_ms);
  }
}
