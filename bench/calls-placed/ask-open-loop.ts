import { setTimeout as wait } from "node:timers/promises";
import type { Asker } from "../calls/ask-for-calls.ts";
import { machineTime_ms } from "../lib/machine-clock.ts";

export type Asked = {
  /** The customer's number among all. */
  readonly i: number;
  readonly campaign_id: number;
  readonly appointed_ms: number;
  readonly answered_ms: number;
};

/** Asks at appointed times, whatever the answers do: for `count` calls from the `first` customer on. */
export async function askOpenLoop(
  asker: Asker,
  { first, count, per_second }: { first: number; count: number; per_second: number },
): Promise<Asked[]> {
  const began_ms = machineTime_ms();
  const ask = async (n: number): Promise<Asked> => {
    const appointed_ms = began_ms + (n * 1_000) / per_second;
    const i = first + n;
    const campaign_id = await asker.ask(i);
    return { i, campaign_id, appointed_ms, answered_ms: machineTime_ms() };
  };
  const asked: Promise<Asked>[] = [];
  while (asked.length < count) {
    const due = Math.floor(((machineTime_ms() - began_ms) * per_second) / 1_000) + 1;
    while (asked.length < Math.min(due, count)) asked.push(ask(asked.length));
    await wait(1);
  }
  return Promise.all(asked);
}
