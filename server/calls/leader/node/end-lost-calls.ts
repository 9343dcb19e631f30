// Ends the calls of a node that is out of contact for too long.
import { statement } from "../../../lib/database/database.ts";
import { cancelIfQueued } from "../../controls/hang-up-call.ts";
import { late_ms_max } from "../dialer/call-blockers.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import { liveLegs } from "../../state-machine/legs.ts";
import type { Leader } from "./leader.ts";
import { findLastSeen, recordLoss } from "./leader-statements.ts";
import { eventsOfMissingLeg } from "./reconcile-calls.ts";

/**
 * Ends every call of a lost node: by the CDR where it can be read, otherwise as lost when the switch was last
 * seen. Cancels dials that wait for the switch, and records the loss, so that queued calls move to other nodes.
 * Channels that live on are orphans once the switch is connected again, and are hung up.
 */
export async function endLostCalls(leader: Leader): Promise<void> {
  const { app, lease, node_id, calls } = leader;
  if (!lease.mayProceed()) return;
  leader.last_seen_at ??= (await findLastSeen(app, node_id)).last_seen_at;
  for (const live of calls.values()) {
    for (const { give_up } of live.dialing.values()) give_up.abort();
    const missed: CallEvent[] = [];
    for (const leg of liveLegs(live.call))
      if (!live.dialing.has(leg.id)) missed.push(...(await eventsOfMissingLeg(leader, live, leg)));
    // The party that hung up first decides the outcome.
    missed.sort((a, b) => a.at.getTime() - b.at.getTime());
    for (const event of missed) leader.dispatch(live, event);
  }
  await endOverdueCalls(leader);
  if (leader.is_recorded_lost) return;
  await recordLoss(app, lease, node_id);
  leader.is_recorded_lost = true;
  const { last_seen_at } = leader;
  app.log.error({ subject_id: node_id, last_seen_at }, "a node is lost: its calls were ended");
}

const findOverdue = statement<{ account_id: number; id: number }>(`
  select account_id, id from calls
  where node_id = $1 and stage = 'queued' and due_at < $2
  order by due_at limit 1000`);

/** Ends queued calls that no other node could place in time, and releases their credit. */
async function endOverdueCalls({ app, node_id }: Leader): Promise<void> {
  const now = app.clock.now();
  const due_before = new Date(now.getTime() - late_ms_max);
  for (const call of await findOverdue(app.db.pool, [node_id, due_before]))
    await app.db.query.transaction().execute((tx) => cancelIfQueued(tx, call, now, "too_late"));
}
