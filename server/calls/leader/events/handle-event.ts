// Runs the call state machine: stores the transition of an event, then executes its commands.
import { isLeaseLost } from "../../../engine/leases.ts";
import { traced } from "../../../lib/tracing/tracing.ts";
import { callName, type Call } from "../../state-machine/call.ts";
import type { CallEvent, Transition } from "../../state-machine/events-and-commands.ts";
import { resumeCommands } from "../../state-machine/resume.ts";
import { transition } from "../../state-machine/transition.ts";
import { answer_missed, losesSilentAgent, wasSilent } from "../../state-machine/call-outcomes.ts";
import { answerRequests } from "./answer-request.ts";
import { blockerBeforeCustomer } from "../dialer/call-blockers.ts";
import { holdFailingCampaign } from "../dialer/hold-failing-campaign.ts";
import { recordContentFailure } from "../dialer/record-content-failure.ts";
import { executeCommands } from "../commands/execute-commands.ts";
import { closePrepared } from "../commands/prepare-ai-agent.ts";
import { callSpan } from "../node/call-span.ts";
import { isNodeLost, type Leader, type LiveCall } from "../node/leader.ts";
import { retryUntilStored } from "../node/retry-until-stored.ts";
import { limitDuration } from "./limit-duration.ts";
import { keepOptOut } from "./record-late-opt-out.ts";
import { scheduleReservation } from "./schedule-reservation.ts";
import { hasSideEffects } from "./apply-side-effects.ts";
import { storeTransition } from "./store-transition.ts";
import { watchRecording } from "./watch-recording.ts";

/**
 * Handles one event of a call. Commands are executed only after the transition is stored; while the database
 * is unavailable, the call waits. Releases a call that another node leader takes over; of its further events, only an
 * opt-out has an effect.
 */
export async function handleEvent(leader: Leader, live: LiveCall, event: CallEvent): Promise<void> {
  if (leader.calls.get(callName(live.call)) !== live) return keepOptOut(leader, live, event);
  await traced("call event", callSpan(live.call, event.type), () => handleNow(leader, live, event));
}

async function handleNow(leader: Leader, live: LiveCall, event: CallEvent): Promise<void> {
  try {
    const next = await applyEvent(leader, live, event);
    if (!next) return;
    live.call = next.call;
    if (live.call.stage === "ended") releaseCall(leader, live);
    await executeCommands(leader, live, next.commands);
    watchCall(leader, live);
  } catch (error) {
    if (isLeaseLost(error) || leader.lease.lost.aborted) {
      // The database may be back for the next event, which must not be stored without this one.
      releaseCall(leader, live);
      keepOptOut(leader, live, event);
    }
    if (!isLeaseLost(error)) throw error;
  }
}

/** Queues the commands that bring the switch in line with the call after a reconnect or a takeover. */
export function resumeCall(leader: Leader, live: LiveCall): void {
  live.pending = live.pending.then(() => resumeNow(leader, live));
}

async function resumeNow(leader: Leader, live: LiveCall): Promise<void> {
  if (leader.calls.get(callName(live.call)) !== live) return;
  live.needs_resume = false;
  await traced("resume call", callSpan(live.call), () =>
    executeCommands(leader, live, resumeCommands(live.call)),
  );
  watchCall(leader, live);
}

/** Starts or adjusts the timers of a call after a change. */
function watchCall(leader: Leader, live: LiveCall): void {
  scheduleReservation(leader, live);
  limitDuration(leader, live);
  watchRecording(leader, live);
}

/** Stores the event's transition and returns it; null if the event changes nothing. */
async function applyEvent(
  leader: Leader,
  live: LiveCall,
  event: CallEvent,
): Promise<Transition | null> {
  const next = transition(live.call, live.line, await withBlocker(leader, live, event));
  if (!next) return null;
  const stored = await leader.serializeAgentChoice(next, async () =>
    store(leader, live, await answerRequests(leader, live, next)),
  );
  // The call goes on with a person. Others are counted at their end.
  if (stored.call.stage === "talking" && losesSilentAgent(live.call, event))
    await recordSilence(leader, live.call);
  return stored;
}

/** Adds the call's current blocker to the agent's answer or key, because the customer is dialed next. */
async function withBlocker(leader: Leader, live: LiveCall, event: CallEvent): Promise<CallEvent> {
  const isOfLeg = event.type === "answered" || event.type === "digit";
  if (!isOfLeg || live.call.stage !== "agent") return event;
  const blocker = await retryUntilStored(leader, () => blockerBeforeCustomer(leader, live));
  return { ...event, blocker };
}

/** Stores the transition if it changes a stored field; by group commit unless it needs its own transaction. */
async function store(leader: Leader, live: LiveCall, next: Transition): Promise<Transition> {
  const { app, lease } = leader;
  const { call: before, line } = live;
  if (next.call.steps === before.steps) return next;
  const isBatchable =
    next.call.stage !== "ended" &&
    next.notes === undefined &&
    next.request === undefined &&
    !hasSideEffects(before, next.call);
  const now = app.clock.now();
  const stored = await retryUntilStored(leader, async () => {
    if (!isBatchable) return storeTransition(app.db, lease.fence, { before, line, next }, now);
    await leader.commitTransition({ before, next });
    return next;
  });
  const isOfCampaign = stored.call.voice !== null && stored.call.direction === "outbound";
  if (stored.call.stage === "ended" && isOfCampaign) await checkCircuit(leader, stored.call);
  return stored;
}

/** Pauses the campaign once too many of its calls fail. */
async function checkCircuit(leader: Leader, call: Call): Promise<void> {
  const { app, breaker } = leader;
  // The loss of a node or of its leader says nothing about the campaign's other calls.
  if (isNodeLost(leader) || call.ended_reason === answer_missed) return;
  if (wasSilent(call)) await recordSilence(leader, call);
  const detail = breaker.record(call);
  if (detail === null) return;
  await retryUntilStored(leader, () => holdFailingCampaign(app.db, call, detail, app.clock.now()));
}

async function recordSilence(leader: Leader, call: Call): Promise<void> {
  if (isNodeLost(leader)) return;
  await recordContentFailure(leader, call, "answered", "the AI agent did not say a word");
}

/** Stops handling the call in this process: ends its timers, its conversation and its dials. */
export function releaseCall(leader: Leader, live: LiveCall): void {
  leader.calls.delete(callName(live.call));
  if (live.credit_timer) clearTimeout(live.credit_timer);
  if (live.ending_timer) clearTimeout(live.ending_timer);
  if (live.wait_timer) clearTimeout(live.wait_timer);
  if (live.duration_timer) clearTimeout(live.duration_timer);
  live.credit_timer = live.ending_timer = live.wait_timer = live.duration_timer = null;
  live.conversation?.end();
  live.conversation = null;
  closePrepared(live);
  for (const { give_up } of live.dialing.values()) give_up.abort();
  leader.wake();
}
