// Stores call transitions in batches, by group commit.
import type { App } from "../../engine/app.ts";
import { openGroupCommit } from "../../engine/group-commit.ts";
import type { Lease } from "../../engine/leases.ts";
import { writeStep, writeSteps, type SmallStep } from "../state-machine/write-step.ts";

/** Resolves when the step is stored, as writeStep does; fails as it does. */
export type WriteTogether = (step: SmallStep) => Promise<boolean>;

/** Opens the group commit of a leader's steps, by account. A call waits with one step at a time, which bounds the queue. */
export function openWriteTogether(
  { db: { pool }, clock }: Pick<App, "db" | "clock">,
  { fence }: Pick<Lease, "fence">,
): WriteTogether {
  const steps = openGroupCommit<number, SmallStep, boolean>({
    name: "call transitions",
    limits: { batch_items: 50 },
    async write(_accountId, batch) {
      const written = await writeSteps(pool, fence, batch);
      return batch.map(({ before }) => written.get(before.id));
    },
    // Fails with the reason of its own, also when the call is another leader's by now.
    writeAlone: (_accountId, { before, next }) => writeStep(pool, fence, before, next, clock.now()),
  });
  return (step) => steps.commit(step.before.account_id, step);
}
