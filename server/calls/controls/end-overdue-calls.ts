import { lockIfUnfrozen, longFrozenUntil } from "../../accounts/accounts/is-frozen.ts";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import { cancelIfQueued } from "./hang-up-call.ts";

/** A call that is due for longer is not placed: its node was unavailable, or the queue was too long. */
export const late_ms_max = 3_600_000;

// Its order is that of calls_waiting, an index of the queued calls only. Not from the nodes: one may have been deleted.
const findOverdue = statement<{ account_id: number; id: number }>(`
  select c.account_id, c.id from calls c
  where c.stage = 'queued' and c.due_at < $1
    and not exists (select from accounts a where a.account_id = c.account_id and a.frozen_at > $2)
  order by c.node_id, c.due_at limit 1000`);

/**
 * Runs one iteration: ends queued calls that no node placed in time, and releases their credit. Not left to the leader
 * of their node: an inactive or deleted node has none, and none claims the calls of a trunk that its node no longer has.
 * Those of a frozen account wait for the end of the freeze, but at most a day: of an account that has moved, they would
 * wait forever, and every placement on their node would read past them. Returns how many were overdue.
 */
export async function endOverdueCalls({ db, clock }: App): Promise<number> {
  const now = clock.now();
  const frozen_until = longFrozenUntil(now);
  const overdue = await findOverdue(db.pool, [new Date(now.getTime() - late_ms_max), frozen_until]);
  for (const call of overdue)
    await db.query.transaction().execute(async (tx) => {
      if (await lockIfUnfrozen(tx, call.account_id, frozen_until))
        await cancelIfQueued(tx, call, now, { reason: "too_late" });
    });
  return overdue.length;
}
