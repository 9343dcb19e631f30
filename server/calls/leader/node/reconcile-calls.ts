// Reconciles live calls with the switch: after each connection, periodically, and after a lost response.
import type { Ending, LegRecord, LiveLeg } from "../../../drivers/voice/driver.ts";
import { openSlots } from "../../../lib/slots.ts";
import { callName, legName, readLegName, type Leg } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import { findLeg, liveLegs } from "../../state-machine/legs.ts";
import { isNodeLost, type Leader, type LiveCall } from "./leader.ts";
import { recordSeen } from "./leader-statements.ts";

/** Requests at once; half of what the client of a switch sends. */
const removals_max = 32;

const lost: Ending = { outcome: "lost", cause: null, sip_status: null, by: "far_end" };
const unplaced: Ending = { outcome: "unplaced", cause: null, sip_status: null, by: "us" };

/**
 * Dispatches events that calls missed: legs that rang, were answered or ended while disconnected. A leg that
 * the switch does not show is looked up in the CDR, waited for, and finally given up. Hangs up orphaned
 * channels and bridges.
 */
export async function reconcileCalls(leader: Leader): Promise<void> {
  // A leg whose dial is completed while the channels are listed may be too late for the list.
  const dialed = new Set([...leader.calls.values()].flatMap(dialedLegs));
  const { legs, bridges } = await leader.session.snapshot();
  await recordSeen(leader.app, leader.node_id);
  const shown = new Map(legs.map((leg) => [leg.leg, leg]));
  const isMissing = (live: LiveCall, leg: Leg) => {
    const name = legName(live.call, leg);
    return dialed.has(name) && !shown.has(name) && !live.dialing.has(leg.id);
  };
  const ends = await findEnds(leader, isMissing);
  for (const live of leader.calls.values()) {
    const seen = liveLegs(live.call).flatMap((leg) => {
      const found = shown.get(legName(live.call, leg));
      return found ? eventsOfLiveLeg(leader, live, leg, found) : [];
    });
    dispatchMissed(leader, live, [...seen, ...(ends.get(live) ?? [])]);
  }
  await removeOrphans(leader, legs, bridges);
}

/** Returns the names of the call's live legs whose dial is not under way. */
function dialedLegs({ call, dialing }: LiveCall): string[] {
  return liveLegs(call).flatMap((leg) => (dialing.has(leg.id) ? [] : [legName(call, leg)]));
}

/**
 * Returns the ends of the missing legs of each call that has any: by the switch's clock if a CDR was found, and none for
 * a leg that is still waited for.
 */
export async function findEnds(
  leader: Leader,
  isMissing: (live: LiveCall, leg: Leg) => boolean,
): Promise<ReadonlyMap<LiveCall, readonly CallEvent[]>> {
  const missing = [...leader.calls.values()].flatMap((live) =>
    liveLegs(live.call).flatMap((leg) =>
      isMissing(live, leg) ? [{ live, leg, name: legName(live.call, leg) }] : [],
    ),
  );
  if (missing.length === 0) return new Map();
  const found = await leader.session.findCdrs(missing.map(({ name }) => name));
  const cdrOf = (name: string) => (found === "unreadable" ? found : (found.get(name) ?? null));
  const ends = new Map<LiveCall, CallEvent[]>();
  for (const { live, leg, name } of missing) {
    const events = ends.get(live) ?? [];
    ends.set(live, [...events, ...endOfMissingLeg(leader, live, leg, cdrOf(name))]);
  }
  return ends;
}

/** Dispatches events that a call missed, in their order: the party that hung up first decides the outcome. */
export function dispatchMissed(leader: Leader, live: LiveCall, missed: readonly CallEvent[]): void {
  // By the switch's clock, which timed all ends of which a CDR was found.
  const ordered = missed.toSorted((a, b) => a.at.getTime() - b.at.getTime());
  for (const event of ordered) leader.dispatch(live, inOurTime(leader, live, event));
}

/** Times the end of a leg by the clock that timed its answer, unless only the CDR has one: clocks differ. */
function inOurTime({ app }: Leader, { call }: LiveCall, event: CallEvent): CallEvent {
  if (event.type !== "ended" || !event.answered_at) return event;
  const answered_at = findLeg(call, event.leg)?.answered_at;
  if (!answered_at) return event;
  const talk_ms = event.at.getTime() - event.answered_at.getTime();
  // An answer that was missed is stored late, and the end would be in the future.
  const at_ms = Math.min(answered_at.getTime() + talk_ms, app.clock.now().getTime());
  return { ...event, at: new Date(at_ms) };
}

function eventsOfLiveLeg(leader: Leader, live: LiveCall, leg: Leg, found: LiveLeg): CallEvent[] {
  live.missing.delete(leg.id);
  const at = leader.app.clock.now();
  const isUnanswered = leg.state === "dialing" || leg.state === "ringing";
  if (found.state === "answered" && isUnanswered) return [{ type: "answered", leg: leg.id, at }];
  if (found.state === "ringing" && leg.state === "dialing")
    return [{ type: "ringing", leg: leg.id, at }];
  return [];
}

/** The clocks of the switch and of this process may differ by as much. */
const clocks_apart_ms = 300_000;
/** No clock is wrong by as much. */
const day_ms = 86_400_000;

type FoundCdr = LegRecord | null | "unreadable";

/**
 * Whether the end in the CDR is that long before the leg began: a switch keeps CDRs of an earlier database, whose legs
 * had the same names.
 */
function endedBefore(found: FoundCdr, { initiated_at }: Leg, ms: number): boolean {
  if (found === null || found === "unreadable") return false;
  return found.ended_at.getTime() < initiated_at.getTime() - ms;
}

function endOfMissingLeg(leader: Leader, live: LiveCall, leg: Leg, found: FoundCdr): CallEvent[] {
  const ended = { type: "ended", leg: leg.id } as const;
  const record = endedBefore(found, leg, clocks_apart_ms) ? null : found;
  if (record !== null && record !== "unreadable") {
    const { answered_at, ended_at, ending } = record;
    return [{ ...ended, ending, answered_at, at: ended_at }];
  }
  const now = leader.app.clock.now();
  // A lost node may never have been seen; a connected one shows now that the leg is gone.
  const gone_at = leader.last_seen_at ?? (isNodeLost(leader) ? leg.initiated_at : now);
  const missing = live.missing.get(leg.id) ?? { since_ms: performance.now(), gone_at };
  live.missing.set(leg.id, missing);
  const left_ms = leader.times.missing_ms - (performance.now() - missing.since_ms);
  const isGone = leader.restarted || isNodeLost(leader);
  if (left_ms > 0 && !isGone) {
    leader.reconcileIn(left_ms);
    return [];
  }
  // A CDR that seems to be of another leg may be this one's, from a switch whose clock is behind.
  const hasNoCdr = found === null || endedBefore(found, leg, day_ms);
  // The previous node leader stored the dial, but died before the switch got it.
  const isAdopted = leg.id <= live.adopted_legs;
  const was_never_placed = hasNoCdr && isAdopted && leg.state === "dialing" && !isGone;
  const ending = was_never_placed ? unplaced : lost;
  // The time after the switch was last seen is not billed.
  return [{ ...ended, ending, at: missing.gone_at }];
}

/** Hangs up channels and ends bridges that are of no call, many at a time: a stop waits for it. */
async function removeOrphans(
  { session, calls, lease }: Leader,
  legs: readonly LiveLeg[],
  bridges: readonly string[],
): Promise<void> {
  const isOrphan = ({ leg }: LiveLeg) => {
    const ids = readLegName(leg);
    const live = ids && calls.get(callName({ account_id: ids.account_id, id: ids.call_id }));
    const isOurs = live && liveLegs(live.call).some(({ id }) => id === ids.leg_id);
    return !isOurs && !live?.dialing.has(ids!.leg_id);
  };
  const slots = openSlots(removals_max, Infinity);
  const remove = (isStill: () => boolean, request: () => Promise<void>) =>
    slots.use(async () => {
      if (isStill() && lease.mayProceed()) await request();
    });
  await Promise.all(
    legs.map((leg) =>
      remove(
        () => isOrphan(leg),
        () => session.hangUp(leg.leg),
      ),
    ),
  );
  await Promise.all(
    bridges.map((bridge) =>
      remove(
        () => !calls.has(bridge),
        () => session.endBridge(bridge),
      ),
    ),
  );
}
