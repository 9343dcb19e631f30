import { setTimeout as wait } from "node:timers/promises";
import type { AriAnswer } from "./ari-client.ts";

/** A leg that was answered while nobody listened is handed over within half a second. */
const hand_over_ms = 2_000;
const hand_over_step_ms = 50;

/** Asks again while the answer is one of `not_yet`: the leg still waits in the dialplan. */
export async function whenHandedOver(
  ask: () => Promise<AriAnswer>,
  not_yet: readonly number[],
): Promise<AriAnswer> {
  const deadline = performance.now() + hand_over_ms;
  for (;;) {
    const answer = await ask();
    if (!not_yet.includes(answer.status) || performance.now() > deadline) return answer;
    await wait(hand_over_step_ms);
  }
}
