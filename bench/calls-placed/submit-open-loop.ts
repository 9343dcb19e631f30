import { setTimeout as wait } from "node:timers/promises";
import type { CallSubmitter } from "../calls/submit-calls.ts";
import { machineTime_ms } from "../lib/machine-clock.ts";

export type Submitted = {
  /** The customer's index. */
  readonly i: number;
  readonly campaign_id: number;
  readonly scheduled_ms: number;
  readonly answered_ms: number;
};

/** Submits `count` calls from customer `first` on, at scheduled times, without waiting for responses. */
export async function submitOpenLoop(
  submitter: CallSubmitter,
  { first, count, per_second }: { first: number; count: number; per_second: number },
): Promise<Submitted[]> {
  const began_ms = machineTime_ms();
  const submit = async (n: number): Promise<Submitted> => {
    const scheduled_ms = began_ms + (n * 1_000) / per_second;
    const i = first + n;
    const campaign_id = await submitter.submit(i);
    return { i, campaign_id, scheduled_ms, answered_ms: machineTime_ms() };
  };
  const submitted: Promise<Submitted>[] = [];
  while (submitted.length < count) {
    const due = Math.floor(((machineTime_ms() - began_ms) * per_second) / 1_000) + 1;
    while (submitted.length < Math.min(due, count)) submitted.push(submit(submitted.length));
    await wait(1);
  }
  return Promise.all(submitted);
}
