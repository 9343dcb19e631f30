// The end of a call: its outcome, its cost and its automatic retry.
import type { Ending, LegOutcome } from "../../../drivers/voice/driver.ts";
import { customerDueFrom } from "../../customer-hours.ts";
import { recordingPath, type Call, type CallStatus, type Leg } from "../call.ts";
import { hangUpLeg, liveLegs, shownStatus } from "../legs.ts";
import { outboxEvent, type OutboxEvent } from "./outbox-event.ts";
import { answer_missed, wasSilent } from "../call-outcomes.ts";
import { recipientOutcome, retryable, retryDueAt } from "./recipient-outcome.ts";
import type { CallBlocker } from "../call-blocker.ts";
import type { Command, Transition } from "../events-and-commands.ts";

/** The outcome of a call, with the fields of its call record. */
export type Outcome = {
  readonly status: CallStatus;
  readonly disposition: string;
  readonly ended_reason: string;
  readonly ended_by: "agent" | "customer" | "system" | "api";
  readonly hangup_cause?: number | null;
  readonly sip_status?: number | null;
};

/** Decides the outcome and hangs up the legs; the call ends once they have ended. */
export function endCall(call: Call, at: Date, outcome: Outcome): Transition {
  const decided: Call = { ...call, ...outcome, stage: "ending" };
  const hang_ups = liveLegs(decided).map(hangUpLeg);
  // A call that never got to talking has no bridge.
  const bridge: Command[] = call.stage === "talking" ? [{ type: "end_bridge" }] : [];
  const { commands: _none, ...next } = finishIfOver(decided, at);
  return { ...next, commands: [...hang_ups, ...bridge] };
}

/** Finishes an ending call once its legs and its recording have ended; requests a due retry first. */
export function finishIfOver(call: Call, at: Date): Transition {
  if (liveLegs(call).length > 0 || call.recording_state === "recording")
    return { call, events: [], commands: [] };
  const ended_at = call.legs.reduce((last, leg) => later(last, leg.ended_at), call.ended_at) ?? at;
  const over: Call = { ...call, ended_at };
  const due_at = redialAt(over, ended_at);
  return due_at === null
    ? finish(over, ended_at, null)
    : { call: over, events: [], commands: [], request: { type: "queue_retry", due_at } };
}

/** Finishes a call after the answer to its retry request; `retry_at` is when the retry is due, or null. */
export function finishCall(call: Call, retry_at: Date | null): Transition | null {
  const { stage, ended_at } = call;
  return stage === "ending" && ended_at !== null ? finish(call, ended_at, retry_at) : null;
}

function finish(call: Call, ended_at: Date, retry_at: Date | null): Transition {
  const customer = call.legs.findLast(({ role }) => role === "customer");
  const begun = call.legs.reduce((sum, leg) => sum + pulsesOf(call, leg, ended_at), 0);
  const pulses = isFree(call)
    ? 0
    : // A pulse that begins while legs are hung up for lack of credit is not billed.
      call.ended_reason === "credit"
      ? Math.min(begun, call.reserved)
      : begun;
  const hasTalked = customer?.answered_at && call.ended_reason !== answer_missed;
  const isAbandoned = call.abandoned && call.disposition === "answered";
  const over: Call = {
    ...call,
    stage: "ended",
    disposition: isAbandoned ? "abandoned" : call.disposition,
    hangup_cause: call.hangup_cause ?? customer?.cause ?? null,
    sip_status: call.sip_status ?? customer?.sip_status ?? null,
    ring_seconds: customer ? ringSeconds(customer, ended_at) : null,
    talk_seconds: hasTalked ? seconds(customer.answered_at, customer.ended_at ?? ended_at) : null,
    billed_seconds: pulses * call.settings.pulse_seconds,
    cost: pulses,
    retry_at,
  };
  const recipient = recipientOutcome(over);
  const ended = recipient ? { ...over, retry_at: recipient.due_at } : over;
  return { call: ended, events: [completedEvent(ended, ended_at)], commands: [] };
}

/** Whether the call is not charged: it is inbound, or its AI agent has not said a word. */
function isFree(call: Call): boolean {
  if (call.direction === "inbound") return true;
  return call.ended_reason === "ai_agent_unavailable" || wasSilent(call);
}

function completedEvent(call: Call, ended_at: Date): OutboxEvent {
  return outboxEvent("call.completed", call, ended_at, {
    type: typeOf(call),
    source: call.click_to_call.source,
    remark: call.click_to_call.remark,
    disposition: call.disposition,
    ended_reason: call.ended_reason,
    ended_by: call.ended_by,
    answered_by: call.answered_by,
    answered_at: call.answered_at?.toISOString() ?? null,
    ring_seconds: call.ring_seconds,
    talk_seconds: call.talk_seconds,
    billed_seconds: call.billed_seconds,
    hangup_cause_q850: call.hangup_cause,
    sip_status: call.sip_status,
    dtmf: call.dtmf,
    collected: call.collected,
    recording_url: call.recording_state === "ready" ? recordingPath(call) : null,
    callback_at: call.callback_at?.toISOString() ?? null,
    opted_out: call.opted_out,
    retry_at: call.retry_at?.toISOString() ?? null,
  });
}

function typeOf({ direction, voice }: Call): "incoming" | "voice_campaign" | "click_to_call" {
  if (direction === "inbound") return "incoming";
  return voice ? "voice_campaign" : "click_to_call";
}

/** Returns the started pulses of a leg until `at` or its end: at least one if it was answered, else 0. */
export function pulsesOf(call: Call, leg: Leg, at: Date): number {
  if (leg.answered_at === null) return 0;
  const ms = (leg.ended_at ?? at).getTime() - leg.answered_at.getTime();
  return Math.max(1, Math.ceil(ms / (call.settings.pulse_seconds * 1_000)));
}

/** Returns the outcome of a blocked call. */
export function outcomeOfBlocker(ended_reason: CallBlocker): Outcome {
  return { status: "canceled", disposition: "canceled", ended_reason, ended_by: "system" };
}

/** Returns the outcome if no agent answered; the last agent's leg decides. */
export function outcomeOfAgents(call: Call): Outcome {
  const last = call.legs.findLast(({ role }) => role === "agent");
  if (!last?.outcome) {
    return {
      status: "no-answer",
      disposition: "no_answer",
      ended_reason: "no_free_agent",
      ended_by: "system",
    };
  }
  if (last.blocker) return outcomeOfBlocker(last.blocker);
  const { outcome, cause, sip_status } = last;
  return {
    status: shownStatus(outcome),
    disposition: outcome,
    ended_reason: reason("agent", outcome),
    ended_by: outcome === "declined" || outcome === "busy" ? "agent" : "system",
    hangup_cause: cause,
    sip_status,
  };
}

/** Returns the outcome after the customer's leg ended, answered or not. */
export function outcomeOfCustomer(leg: Leg, ending: Ending): Outcome {
  const { outcome, cause, sip_status } = ending;
  const talked = leg.answered_at !== null;
  return {
    status: talked ? "completed" : shownStatus(outcome),
    disposition: talked ? "answered" : outcome,
    ended_reason:
      outcome === "lost" ? "node_lost" : talked ? "hung_up" : reason("customer", outcome),
    ended_by:
      outcome === "lost" || !(talked || outcome === "declined" || outcome === "busy")
        ? "system"
        : "customer",
    hangup_cause: cause,
    sip_status,
  };
}

/** Returns the outcome of a customer who answered while no node leader was connected, and hung up in silence. */
export function outcomeOfMissedAnswer({ cause, sip_status }: Ending): Outcome {
  return {
    status: "failed",
    disposition: "failed",
    ended_reason: answer_missed,
    ended_by: "customer",
    hangup_cause: cause,
    sip_status,
  };
}

/** Returns the outcome of a caller who hung up on an AI agent that had not said a word. */
export function outcomeOfSilence({ cause, sip_status }: Ending): Outcome {
  return {
    status: "failed",
    disposition: "failed",
    ended_reason: "agent_lost",
    ended_by: "customer",
    hangup_cause: cause,
    sip_status,
  };
}

function reason(party: "agent" | "customer", outcome: LegOutcome): string {
  return outcome === "lost" || outcome === "unplaced" ? "node_lost" : `${party}_${outcome}`;
}

/**
 * Returns when a click-to-call's automatic retry is due, or null; for campaigns recipientOutcome decides. A
 * retry waits for the calling window; one that was claimed too late for it has not called anyone, and does not count.
 */
function redialAt(call: Call, ended_at: Date): Date | null {
  const { max_retry, retry_after_minutes } = call.click_to_call;
  if (call.voice || call.retried_leg !== null) return null;
  if (call.ended_reason === "night_window" && call.attempt > 1 && call.legs.length === 0)
    return customerDueFrom(call, ended_at);
  if (call.attempt - call.unplaced_attempts > max_retry || !isRetryable(call)) return null;
  return customerDueFrom(call, retryDueAt(ended_at, retry_after_minutes));
}

/** Whether a click-to-call may be retried: the customer's leg may have never reached the switch. */
export function isRetryable({
  disposition,
  ended_reason,
}: Pick<Call, "disposition" | "ended_reason">): boolean {
  return ended_reason === "node_unavailable" || retryable.has(disposition ?? "");
}

/** Returns how long the leg rang until its answer or its end; 0 if the switch reported no ringing. */
function ringSeconds({ ringing_at, answered_at, ended_at }: Leg, over_at: Date): number {
  return ringing_at ? seconds(ringing_at, answered_at ?? ended_at ?? over_at) : 0;
}

function seconds(from: Date, to: Date): number {
  return Math.max(0, Math.round((to.getTime() - from.getTime()) / 1_000));
}

function later(one: Date | null, other: Date | null): Date | null {
  return one && other ? (one > other ? one : other) : (one ?? other);
}
