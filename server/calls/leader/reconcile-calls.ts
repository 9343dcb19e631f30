// What the switch says is there, blocker what we take for live: after each connection, now and then,
// and whenever an answer of the switch was lost.
import type { Ending, LiveLeg } from "../../drivers/voice/driver.ts";
import { callName, legName, readLegName, type Leg } from "../state-machine/call.ts";
import type { CallEvent } from "../state-machine/events-and-commands.ts";
import { liveLegs } from "../state-machine/legs.ts";
import type { Leader, LiveCall } from "./leader.ts";
import { noteHeard } from "./leader-statements.ts";

const lost: Ending = { outcome: "lost", cause: null, sip_status: null, by: "far_end" };
const unplaced: Ending = { outcome: "unplaced", cause: null, sip_status: null, by: "us" };

/**
 * Has every call hear what it missed: legs that rang, answered or ended while nobody listened. What lives
 * at the switch for no call of ours is hung up. A leg that the switch does not show is waited for,
 * looked up in the switch's records, and given up at last.
 */
export async function reconcileCalls(leader: Leader): Promise<void> {
  const survey = await leader.session.survey();
  await noteHeard(leader.app, leader.node_id);
  const shown = new Map(survey.legs.map((leg) => [leg.leg, leg]));
  for (const live of leader.calls.values()) {
    const missed: CallEvent[] = [];
    for (const leg of liveLegs(live.call)) {
      const found = shown.get(legName(live.call, leg));
      if (found) missed.push(...eventsOfLiveLeg(leader, live, leg, found));
      else if (!live.dialing.has(leg.id))
        missed.push(...(await eventsOfMissingLeg(leader, live, leg)));
    }
    // Who hung up first decides what the call came to.
    missed.sort((a, b) => a.at.getTime() - b.at.getTime());
    for (const event of missed) leader.dispatch(live, event);
  }
  await removeOrphans(leader, survey.legs, survey.bridges);
}

function eventsOfLiveLeg(leader: Leader, live: LiveCall, leg: Leg, found: LiveLeg): CallEvent[] {
  live.missing.delete(leg.id);
  const at = leader.app.clock.now();
  const isNews = leg.state === "dialing" || leg.state === "ringing";
  if (found.state === "answered" && isNews) return [{ type: "answered", leg: leg.id, at }];
  if (found.state === "ringing" && leg.state === "dialing")
    return [{ type: "ringing", leg: leg.id, at }];
  return [];
}

async function eventsOfMissingLeg(leader: Leader, live: LiveCall, leg: Leg): Promise<CallEvent[]> {
  const ended = { type: "ended", leg: leg.id } as const;
  const record = await leader.session.findRecord(legName(live.call, leg));
  if (record !== null && record !== "unreadable") {
    const { answered_at, ended_at, ending } = record;
    return [{ ...ended, ending, answered_at, at: ended_at }];
  }
  const now = leader.app.clock.now();
  const gone_at = later(leader.last_seen_at ?? now, leg.answered_at ?? leg.initiated_at);
  const missing = live.missing.get(leg.id) ?? { since_ms: performance.now(), gone_at };
  live.missing.set(leg.id, missing);
  const left_ms = leader.times.missing_ms - (performance.now() - missing.since_ms);
  if (left_ms > 0 && !leader.restarted) {
    leader.reconcileIn(left_ms);
    return [];
  }
  // Its row said that it would be dialed, and nothing was: whoever wrote that died in between.
  const was_never_there =
    record === null && live.adopted && leg.state === "dialing" && !leader.restarted;
  const ending = was_never_there ? unplaced : lost;
  // Nobody pays for hours in which nobody could tell that it was over.
  return [{ ...ended, ending, at: missing.gone_at }];
}

function later(one: Date, other: Date): Date {
  return one > other ? one : other;
}

async function removeOrphans(
  { session, calls, ...leader }: Leader,
  legs: readonly LiveLeg[],
  bridges: readonly string[],
): Promise<void> {
  for (const { leg } of legs) {
    const ids = readLegName(leg);
    const live = ids && calls.get(callName({ account_id: ids.account_id, id: ids.call_id }));
    const isOurs = live && liveLegs(live.call).some(({ id }) => id === ids.leg_id);
    if (isOurs || live?.dialing.has(ids!.leg_id)) continue;
    if (leader.lease.mayAct()) await session.hangUp(leg);
  }
  for (const bridge of bridges) {
    if (!calls.has(bridge) && leader.lease.mayAct()) await session.endBridge(bridge);
  }
}
