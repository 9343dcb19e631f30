// The call state machine, a pure function: a call and an event give the call after it, the events to publish,
// and the commands to execute once both are stored.
import { recordingPath, type Call, type Line } from "./call.ts";
import { handlePulseDue, handlePulseRefused } from "./credit.ts";
import { dialAgents } from "./transitions/dial-legs.ts";
import {
  endCall,
  finishCall,
  finishIfOver,
  isRetryable,
  outcomeOfAgents,
  outcomeOfBlocker,
} from "./transitions/end-call.ts";
import type { CallEvent, HangUpReason, Transition } from "./events-and-commands.ts";
import { handleVoiceEvent, isConversing } from "./transitions/handle-voice-event.ts";
import { handleKeyPress } from "./transitions/handle-key-press.ts";
import { handleLegAnswered } from "./transitions/handle-leg-answered.ts";
import { handleLegEnded, handleUnaccepted } from "./transitions/handle-leg-ended.ts";
import { findLeg, liveLegs, patchLeg } from "./legs.ts";
import { outboxEvent } from "./transitions/outbox-event.ts";
import { handlePauseOver } from "./ring-again.ts";
import {
  dialTransfer,
  handleAgentFound,
  handleAgentRequested,
  handleTransferRefused,
  handleTransferRequested,
} from "./transitions/transfer.ts";
import { withNotes } from "./transitions/walk-menu.ts";

/** Returns the event's transition; null if it changes nothing because it is late, a duplicate or irrelevant. */
export function transition(call: Call, line: Line, event: CallEvent): Transition | null {
  if (call.stage === "ended") return null;
  // Refused credit is requested again after any further event.
  const next = handle({ ...call, unpaid_at: null, seen_at: seenAt(call, event) }, line, event);
  if (!next) return null;
  const endsConversation = isConversing(call) && !isConversing(next.call);
  if (!endsConversation) return countTransition(call, next);
  const commands = [{ type: "end_conversation" } as const, ...next.commands];
  return countTransition(call, { ...next, commands });
}

/** Merges the transition with the one that follows from the answer to its request. */
export function answerRequest(
  { request: _answered, ...first }: Transition,
  line: Line,
  answer: CallEvent,
): Transition {
  const next = transition(first.call, line, answer);
  if (!next) return first;
  const events = [...first.events, ...next.events];
  const commands = [...first.commands, ...next.commands];
  return { ...(first.notes ? withNotes(next, first.notes) : next), events, commands };
}

/** Why a call that is still queued is cancelled: at a user's request, or because no node placed it in time. */
export type CancelReason = "hung_up_by_api" | "too_late";

/** Cancels a call that is still queued. */
export function cancelQueuedCall(call: Call, reason: CancelReason, at: Date): Transition {
  if (reason === "too_late")
    return countTransition(call, endCall(call, at, outcomeOfBlocker(reason)));
  return countTransition(call, hangUp(call, "hung_up_by_api", at));
}

/**
 * Ends a live call whose course is not known since a restore of the database: no further leg is dialed, and it is not
 * retried. Null if its outcome is decided and calls for no retry.
 */
export function loseCall(call: Call, at: Date): Transition | null {
  const lost = endAsLost(call, at);
  return lost && countTransition(call, lost);
}

function endAsLost(call: Call, at: Date): Transition | null {
  if (call.stage === "ending" && !isRetryable(call)) return null;
  const talked = call.stage === "talking";
  return endCall(call, at, {
    status: talked ? "completed" : "failed",
    disposition: talked ? "answered" : "lost",
    ended_reason: "node_lost",
    ended_by: "system",
  });
}

/** Events that prove that the switch was in contact. */
const reports: ReadonlySet<string> = new Set(["ringing", "answered", "digit"]);

function seenAt({ seen_at }: Call, { type, at }: CallEvent): Date | null {
  return reports.has(type) && (seen_at === null || at > seen_at) ? at : seen_at;
}

/**
 * Fields that alone are no reason to store a transition: reservations store `reserved` themselves, and
 * `seen_at` is stored with the next change.
 */
const unstored: ReadonlySet<string> = new Set([
  "steps",
  "reserved",
  "starred",
  "unpaid_at",
  "seen_at",
]);

/** Raises `steps` if the transition changes anything that is stored. */
function countTransition(before: Call, next: Transition): Transition {
  const fields = Object.keys(next.call) as (keyof Call)[];
  const isStored =
    next.events.length > 0 ||
    next.notes !== undefined ||
    fields.some((field) => !unstored.has(field) && next.call[field] !== before[field]);
  return isStored ? { ...next, call: { ...next.call, steps: before.steps + 1 } } : next;
}

function handle(call: Call, line: Line, event: CallEvent): Transition | null {
  switch (event.type) {
    case "placed":
      return handlePlaced(call, event);
    case "agents_chosen":
      return handleAgentsChosen(call, line, event);
    case "ringing":
      return handleRinging(call, event);
    case "answered":
      return handleLegAnswered(call, line, event);
    case "digit":
      return handleKeyPress(call, line, event);
    case "ended":
      return handleLegEnded(call, line, event);
    case "transfer_requested":
      return handleTransferRequested(call, line, event);
    case "agent_requested":
      return handleAgentRequested(call, event);
    case "agent_found":
      return handleAgentFound(call, line, event);
    case "pulse_due":
      return handlePulseDue(call, event);
    case "credit_reserved":
      return handleCreditReserved(call, line, event);
    case "credit_refused":
      return handleCreditRefused(call, event);
    case "hangup":
      return call.stage === "ending" ? null : hangUp(call, event.reason, event.at);
    case "trunk_deleted":
      return endAsLost(call, event.at);
    case "recorded":
      return handleRecorded(call, event);
    case "played":
      return handleUnaccepted(call, event) ?? handleVoiceEvent(call, event);
    case "timeout":
      return call.voice ? handleVoiceEvent(call, event) : handlePauseOver(call, event);
    case "retry_queued":
      return finishCall(call, event.due_at);
    case "retry_refused":
      return finishCall(call, null);
    default:
      return handleVoiceEvent(call, event);
  }
}

function handlePlaced(
  call: Call,
  { blocker, at }: CallEvent & { type: "placed" },
): Transition | null {
  if (call.stage !== "agent" || call.initiated_at !== null) return null;
  if (blocker !== null) return endCall(call, at, outcomeOfBlocker(blocker));
  const placed: Call = { ...call, status: "ringing", initiated_at: at };
  return {
    call: placed,
    events: [outboxEvent("call.initiated", placed, at, {})],
    commands: [],
    request: { type: "choose_agents", again: null },
  };
}

function handleAgentsChosen(
  call: Call,
  line: Line,
  { agents, at }: CallEvent & { type: "agents_chosen" },
): Transition | null {
  if (call.stage !== "agent" || liveLegs(call).length > 0) return null;
  if (agents.length === 0) return endCall(call, at, outcomeOfAgents(call));
  return { ...dialAgents(call, line, "agent", agents, at), events: [] };
}

function handleRinging(
  call: Call,
  { leg: legId, at }: CallEvent & { type: "ringing" },
): Transition | null {
  const leg = findLeg(call, legId);
  if (leg?.state !== "dialing") return null;
  const next = patchLeg(call, legId, { state: "ringing", status: "ringing", ringing_at: at });
  const ringing: Call =
    leg.role === "customer" && call.ringing_at === null ? { ...next, ringing_at: at } : next;
  const event = outboxEvent("call.ringing", ringing, at, { leg: leg.role });
  return { call: ringing, events: [event], commands: [] };
}

function handleCreditReserved(
  call: Call,
  line: Line,
  { amount, purpose, at }: CallEvent & { type: "credit_reserved" },
): Transition {
  const paid: Call = { ...call, reserved: call.reserved + amount };
  const next = purpose.type === "transfer" ? dialTransfer(paid, line, purpose, at) : null;
  return next ?? { call: paid, events: [], commands: [] };
}

function handleCreditRefused(
  call: Call,
  { purpose, at }: CallEvent & { type: "credit_refused" },
): Transition | null {
  return purpose.type === "transfer"
    ? handleTransferRefused(call, purpose, at)
    : handlePulseRefused(call, purpose.due_at);
}

function hangUp(call: Call, reason: HangUpReason, at: Date): Transition {
  const talked = call.stage === "talking";
  return endCall(call, at, {
    status: talked ? "completed" : "canceled",
    disposition: talked ? "answered" : "canceled",
    ended_reason: reason,
    ended_by: reason === "hung_up_by_api" ? "api" : "system",
  });
}

function handleRecorded(
  call: Call,
  { ok, at }: CallEvent & { type: "recorded" },
): Transition | null {
  if (call.recording_state !== "recording") return null;
  const recorded: Call = { ...call, recording_state: ok ? "ready" : "failed" };
  const events = ok
    ? [outboxEvent("call.recording.ready", recorded, at, { recording_url: recordingPath(call) })]
    : [];
  if (call.stage !== "ending") return { call: recorded, events, commands: [] };
  const over = finishIfOver(recorded, at);
  return { ...over, events: [...events, ...over.events] };
}
