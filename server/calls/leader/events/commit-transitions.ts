// Stores call transitions in batches, by group commit.
import type { App } from "../../../engine/app.ts";
import { openGroupCommit } from "../../../engine/group-commit.ts";
import type { Lease } from "../../../engine/leases.ts";
import {
  writeTransition,
  writeTransitions,
  type BatchableTransition,
} from "../../state-machine/write-transition.ts";

/** Resolves when the transition is stored, as writeTransition does; fails as it does. */
export type CommitTransition = (transition: BatchableTransition) => Promise<boolean>;

/** Opens a leader's group commit by account. A call stores one transition at a time, which bounds the queue. */
export function openTransitionCommits(
  { db: { pool }, clock }: Pick<App, "db" | "clock">,
  { fence }: Pick<Lease, "fence">,
): CommitTransition {
  const transitions = openGroupCommit<number, BatchableTransition, boolean>({
    name: "call transitions",
    limits: { batch_items: 50 },
    async write(_accountId, batch) {
      const written = await writeTransitions(pool, fence, batch);
      return batch.map(({ before }) => written.get(before.id));
    },
    // Fails with its own reason, also if another leader owns the call by now.
    writeAlone: (_accountId, { before, next }) =>
      writeTransition(pool, fence, before, next, clock.now()),
  });
  return (transition) => transitions.commit(transition.before.account_id, transition);
}
