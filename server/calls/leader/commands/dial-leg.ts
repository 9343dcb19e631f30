// Dials a leg: waits for the rate limit and the switch, and checks last whether it may be dialed.
import { setTimeout as delay } from "node:timers/promises";
import { VoiceError, type Dial, type Ending } from "../../../drivers/voice/driver.ts";
import { settledWithin } from "../../../lib/settled-within.ts";
import { callName, legName } from "../../state-machine/call.ts";
import type { Leg } from "../../state-machine/call.ts";
import type { CallBlocker } from "../../state-machine/call-blocker.ts";
import type { Command } from "../../state-machine/events-and-commands.ts";
import { findLeg, liveLegs } from "../../state-machine/legs.ts";
import {
  blockerAtDial,
  blockerOfNumber,
  claimAgentLeg,
  type BlockedDial,
} from "../dialer/call-blockers.ts";
import { recordContentFailure } from "../dialer/record-content-failure.ts";
import { prepareContent } from "./prepare-content.ts";
import { isNodeLost, type Leader, type LiveCall } from "../node/leader.ts";

type DialCommand = Command & { type: "dial" };

const retry_ms = 500;

const canceled: Ending = { outcome: "canceled", cause: null, sip_status: null, by: "us" };
const lost: Ending = { outcome: "lost", cause: null, sip_status: null, by: "far_end" };
const unreachable: Ending = {
  outcome: "unreachable",
  cause: null,
  sip_status: null,
  by: "far_end",
};

/** Dials in the background; dispatches the leg's end to the call if it cannot be dialed. */
export function startDialing(leader: Leader, live: LiveCall, command: DialCommand): void {
  const give_up = new AbortController();
  const done = dial(leader, live, command, give_up.signal)
    .catch((err: unknown) => leader.app.log.error({ err }, "dialing a leg failed"))
    .finally(() => live.dialing.delete(command.leg));
  live.dialing.set(command.leg, { done, give_up });
}

/**
 * Waits for the rate limit and the switch, at most as long as the leg may ring, and dials. Repeats a
 * request that certainly never left this process.
 */
async function dial(
  leader: Leader,
  live: LiveCall,
  command: DialCommand,
  given_up: AbortSignal,
): Promise<void> {
  const { app, session } = leader;
  const leg = findLeg(live.call, command.leg)!;
  const end = (ending: Ending, blocker: CallBlocker | null = null) =>
    leader.dispatch(live, { type: "ended", leg: leg.id, ending, blocker, at: app.clock.now() });
  const withdraw = (blocked: BlockedDial) =>
    leader.dispatch(live, { type: "withdrawn", leg: leg.id, ...blocked, at: app.clock.now() });
  const began_ms = performance.now();
  let give_up_at_ms = began_ms + command.ring_seconds * 1_000;
  let isPrepared = leg.role !== "customer";
  let isCounted = false;
  // An agent waits for this leg.
  const isUrgent = leg.role === "customer" && live.call.voice === null;
  const isOfCampaign = leg.role === "customer" && !isUrgent;
  for (;;) {
    await leader.leg_rate.acquire(isUrgent);
    if (leg.on_trunk) await leader.trunk_leg_rates.get(live.trunk.id)?.acquire(isUrgent);
    const barrier = leg.on_trunk ? blockerOfNumber(live, leg.number) : null;
    if (barrier)
      return isPrepared || !live.call.voice
        ? end(canceled, barrier)
        : withdraw({ blocker: barrier });
    if (!isPrepared) {
      // Only now: the rate limit also limits how many calls are claimed and prepared at once.
      const paced_ms = performance.now();
      const prepared = prepareInTime(leader, live, { give_up_at_ms, given_up });
      const blocker = await Promise.race([prepared, aborted(given_up)]);
      if (blocker) return withdraw({ blocker });
      isPrepared = true;
      give_up_at_ms += performance.now() - paced_ms;
    }
    const ready = Promise.race([leader.connected.promise, aborted(given_up)]);
    await settledWithin(ready, give_up_at_ms - performance.now());
    if (given_up.aborted && !isNodeLost(leader)) return end(canceled);
    // The other party does not wait forever, and the calling window may have closed.
    if (!leader.is_connected) return endUnplaced(leader, live, leg);
    if (performance.now() >= give_up_at_ms) return endUnplaced(leader, live, leg);
    if (!leader.lease.mayProceed()) return;
    const blocked = await findBlocker(leader, live, leg, { began_ms, isCounted });
    if (blocked === "unknown") await delay(retry_ms);
    // The call may have ended while the database was asked.
    if (blocked === "unknown" || given_up.aborted) continue;
    if (blocked) return isOfCampaign ? withdraw(blocked) : end(canceled, blocked.blocker);
    isCounted = true;
    if (!leader.lease.mayProceed()) return;
    if (leg.role === "customer" && isAgentMissing(live)) {
      await delay(retry_ms);
      continue;
    }
    try {
      return await session.dial(dialOf(live, command));
    } catch (error) {
      if (!(error instanceof VoiceError)) throw error;
      if (error.failure === "refused") return end(error.ending ?? unreachable);
      if (error.failure === "unknown") return leader.reconcileIn(retry_ms);
      if (performance.now() > give_up_at_ms) return endUnplaced(leader, live, leg);
      app.log.warn({ err: error }, "could not reach the switch; dialing again");
      await delay(retry_ms);
    }
  }
}

/** Prepares the call's content; repeats it while the database fails. Returns why the call must not be dialed, or null. */
async function prepareInTime(
  leader: Leader,
  live: LiveCall,
  until: { readonly give_up_at_ms: number; readonly given_up: AbortSignal },
): Promise<CallBlocker | null> {
  for (;;) {
    try {
      return await prepareContent(leader, live);
    } catch (error) {
      leader.app.log.warn({ err: error }, "could not prepare a call's content; preparing it again");
    }
    await delay(retry_ms);
    // Nothing is dialed then.
    if (until.given_up.aborted || !leader.lease.mayProceed()) return null;
    if (performance.now() < until.give_up_at_ms) continue;
    const reason = "the content could not be prepared";
    await recordContentFailure(leader, live.call, "set_up", reason);
    return "speech_unavailable";
  }
}

/** Returns why the leg must not be dialed now, or null; `unknown` if the database does not respond. */
async function findBlocker(
  leader: Leader,
  live: LiveCall,
  leg: Leg,
  { began_ms, isCounted }: { readonly began_ms: number; readonly isCounted: boolean },
): Promise<BlockedDial | "unknown" | null> {
  // Leg 1 is a recipient's, whose claim was the check; the claim began at `initiated_at`, and may have waited for locks.
  // Any other follows requests to the switch since the agent's answer, or a node leader that died after its check.
  const since_claim_ms = leader.app.clock.now().getTime() - leg.initiated_at.getTime();
  // The clock may be set back.
  const since_check_ms = Math.max(since_claim_ms, performance.now() - began_ms);
  const waited_ms = leg.id === 1 ? since_check_ms : Infinity;
  try {
    if (leg.role === "customer") return await blockerAtDial(leader, live, waited_ms);
    const blocker = leg.on_trunk ? await claimAgentLeg(leader, live, leg, isCounted) : null;
    return blocker && { blocker };
  } catch (error) {
    leader.app.log.warn({ err: error }, "could not check whether to dial a leg; checking again");
    return "unknown";
  }
}

/**
 * Ends a leg that never reached the switch. A customer's is canceled, because no phone can have rung; a campaign calls
 * its recipient later.
 */
function endUnplaced(leader: Leader, live: LiveCall, { id, role }: Leg): void {
  const at = leader.app.clock.now();
  const { voice, stage } = live.call;
  const isEnding = stage === "ending";
  const blocker = role === "customer" && !isEnding ? "node_unavailable" : null;
  if (blocker && voice) return leader.dispatch(live, { type: "withdrawn", leg: id, blocker, at });
  const ending = isEnding || blocker ? canceled : isNodeLost(leader) ? lost : unreachable;
  leader.dispatch(live, { type: "ended", leg: id, ending, blocker, at });
}

function dialOf({ call }: LiveCall, { leg, to, caller_id, ring_seconds }: DialCommand): Dial {
  return { leg: legName(call, { id: leg }), call: callName(call), to, caller_id, ring_seconds };
}

/** The waiting agent may have hung up while the switch was disconnected, or the database unavailable. */
function isAgentMissing({ call, missing, ended }: LiveCall): boolean {
  return liveLegs(call).some(
    ({ role, id, state }) =>
      role === "agent" && (missing.has(id) || (state === "answered" && ended.has(id))),
  );
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
