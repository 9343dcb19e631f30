// Steps of calls on their way into the database. While a batch of an account is under way, its next steps
// gather and go together when it is done: no timer, so a quiet leader adds no delay.
import { isDatabaseUnavailable } from "../../lib/database/database-errors.ts";
import type { App } from "../../engine/app.ts";
import type { Lease } from "../../engine/leases.ts";
import { writeStep, writeSteps, type SmallStep } from "../state-machine/write-step.ts";

/** Resolves when the step is stored; fails as writeStep does. */
export type WriteTogether = (step: SmallStep) => Promise<void>;

type Waiting = {
  readonly step: SmallStep;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

const batch_steps_max = 50;

export function openWriteTogether(
  app: Pick<App, "db" | "clock">,
  lease: Pick<Lease, "fence">,
): WriteTogether {
  /** By account: one is here while a batch of it is under way. */
  const queues = new Map<number, Waiting[]>();
  const run = async (accountId: number, queue: Waiting[]) => {
    while (queue.length > 0) await writeBatch(app, lease, queue.splice(0, batch_steps_max));
    queues.delete(accountId);
  };
  return (step) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { account_id } = step.before;
    const queue = queues.get(account_id) ?? [];
    queue.push({ step, resolve, reject });
    if (!queues.has(account_id)) {
      queues.set(account_id, queue);
      // After this turn of the event loop: what came together goes together.
      setImmediate(() => void run(account_id, queue));
    }
    return promise;
  };
}

/** Never throws. */
async function writeBatch(
  { db: { pool }, clock }: Pick<App, "db" | "clock">,
  { fence }: Pick<Lease, "fence">,
  batch: readonly Waiting[],
): Promise<void> {
  let written: ReadonlyMap<number, boolean> = new Map();
  try {
    const steps = batch.map(({ step }) => step);
    written = await writeSteps(pool, fence, steps);
  } catch (error) {
    if (isDatabaseUnavailable(error)) {
      for (const { reject } of batch) reject(error);
      return;
    }
  }
  // What was not taken is written by itself: one bad step fails alone, and of a lost call it is said.
  const alone = batch.map(async ({ step: { before, next }, resolve, reject }) => {
    try {
      if (!written.has(before.id)) await writeStep(pool, fence, before, next, clock.now());
      resolve();
    } catch (error) {
      reject(error);
    }
  });
  await Promise.all(alone);
}
