// Ends the calls of a node that is out of contact for too long.
import { liveLegs } from "../../state-machine/legs.ts";
import { isNodeLost, type Leader } from "./leader.ts";
import { findLastSeen, recordLoss } from "./leader-statements.ts";
import { dispatchMissed, findEnds } from "./reconcile-calls.ts";

/**
 * Ends every call of a lost node: by the CDR where it can be read, otherwise as lost when the switch was last
 * seen. Cancels dials that wait for the switch, and records the loss, so that queued calls move to other nodes.
 * Channels that live on are orphans once the switch is connected again, and are hung up.
 */
export async function endLostCalls(leader: Leader): Promise<void> {
  const { app, lease, node_id, calls } = leader;
  if (!lease.mayProceed()) return;
  leader.last_seen_at ??= (await findLastSeen(app, node_id)).last_seen_at;
  for (const live of calls.values())
    for (const { give_up } of live.dialing.values()) give_up.abort();
  const ends = await findEnds(leader, (live, leg) => !live.dialing.has(leg.id));
  // The switch was connected again meanwhile, and its calls were reconciled.
  if (!isNodeLost(leader)) return;
  for (const live of calls.values()) {
    // No pause before an agent's phone rings again: the leg that is next is not dialed, and ends as lost.
    const { stage, legs } = live.call;
    if (stage === "agent" && liveLegs(live.call).length === 0) {
      leader.dispatch(live, { type: "timeout", visit: legs.length, at: app.clock.now() });
      leader.reconcileIn(leader.times.missing_ms);
    }
    dispatchMissed(leader, live, ends.get(live) ?? []);
  }
  if (leader.is_recorded_lost) return;
  await recordLoss(app, lease, node_id);
  leader.is_recorded_lost = true;
  const { last_seen_at } = leader;
  app.log.error({ subject_id: node_id, last_seen_at }, "a node is lost: its calls were ended");
}
