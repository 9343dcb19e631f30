// How a call ends: what it came to, what it costs, whether it is tried again.
import type { Ending, LegOutcome } from "../../drivers/voice/driver.ts";
import { recordingPath, type Call, type CallStatus, type Leg } from "./call.ts";
import { hangUpLeg, liveLegs, shownStatus } from "./legs.ts";
import { news } from "./news.ts";
import { recipientAfter, retryable } from "./recipient-after.ts";
import type { Act, Obstacle, Step } from "./events-and-acts.ts";

/** What a call came to, in the report's words. */
export type Outcome = {
  readonly status: CallStatus;
  readonly disposition: string;
  readonly ended_reason: string;
  readonly ended_by: "agent" | "customer" | "system" | "api";
  readonly hangup_cause?: number | null;
  readonly sip_status?: number | null;
};

/** Decides what the call came to; it is over once its legs are. */
export function endCall(call: Call, at: Date, outcome: Outcome): Step {
  const decided: Call = { ...call, ...outcome, stage: "ending" };
  const hang_ups = liveLegs(decided).map(hangUpLeg);
  // What was never joined has no bridge.
  const bridge: Act[] = call.stage === "talking" ? [{ do: "end_bridge" }] : [];
  const { acts: _none, ...next } = finishIfOver(decided, at);
  return { ...next, acts: [...hang_ups, ...bridge] };
}

/** The last step of a call that is ending, once every leg has ended and the recording is in. */
export function finishIfOver(call: Call, at: Date): Step {
  if (liveLegs(call).length > 0 || call.recording_state === "recording")
    return { call, news: [], acts: [] };
  const customer = call.legs.findLast(({ role }) => role === "customer");
  const ended_at = call.legs.reduce((last, leg) => later(last, leg.ended_at), call.ended_at) ?? at;
  const begun = call.legs.reduce((sum, leg) => sum + pulsesOf(call, leg, ended_at), 0);
  // One that begins while legs are hung up because it cannot be paid is not billed.
  const pulses = call.ended_reason === "credit" ? Math.min(begun, call.reserved) : begun;
  const over: Call = {
    ...call,
    stage: "ended",
    ended_at,
    hangup_cause: call.hangup_cause ?? customer?.cause ?? null,
    sip_status: call.sip_status ?? customer?.sip_status ?? null,
    ring_seconds: customer
      ? seconds(customer.initiated_at, customer.answered_at ?? ended_at)
      : null,
    talk_seconds: customer?.answered_at
      ? seconds(customer.answered_at, customer.ended_at ?? ended_at)
      : null,
    billed_seconds: pulses * call.settings.pulse_seconds,
    cost: pulses,
    retry_at: retryAt(call, ended_at),
  };
  const next = recipientAfter(over);
  return tellEnd(next ? { ...over, retry_at: next.due_at } : over, ended_at);
}

function tellEnd(over: Call, ended_at: Date): Step {
  const told = news("call.completed", over, ended_at, {
    type: over.voice ? "voice_campaign" : "click_to_call",
    source: over.plan.source,
    remark: over.plan.remark,
    disposition: over.disposition,
    ended_reason: over.ended_reason,
    ended_by: over.ended_by,
    answered_by: over.answered_by,
    answered_at: over.answered_at?.toISOString() ?? null,
    ring_seconds: over.ring_seconds,
    talk_seconds: over.talk_seconds,
    billed_seconds: over.billed_seconds,
    hangup_cause_q850: over.hangup_cause,
    sip_status: over.sip_status,
    dtmf: over.dtmf,
    collected: over.collected,
    recording_url: over.recording_state === "ready" ? recordingPath(over) : null,
    callback_at: over.callback_at?.toISOString() ?? null,
    opted_out: over.opted_out,
    retry_at: over.retry_at?.toISOString() ?? null,
  });
  return { call: over, news: [told], acts: [] };
}

/** Started pulses of an answered leg until `at` or its end: at least one. */
export function pulsesOf(call: Call, leg: Leg, at: Date): number {
  if (leg.answered_at === null) return 0;
  const ms = (leg.ended_at ?? at).getTime() - leg.answered_at.getTime();
  return Math.max(1, Math.ceil(ms / (call.settings.pulse_seconds * 1_000)));
}

/** Something stood against it. */
export function outcomeOfObstacle(ended_reason: Obstacle): Outcome {
  return { status: "canceled", disposition: "canceled", ended_reason, ended_by: "system" };
}

/** Nobody of those who were rung took it: the last one's answer speaks for all. */
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

/** The customer's leg is over: a talk that ended, or none that began. */
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

function reason(party: "agent" | "customer", outcome: LegOutcome): string {
  return outcome === "lost" || outcome === "unplaced" ? "node_lost" : `${party}_${outcome}`;
}

function retryAt(call: Call, ended_at: Date): Date | null {
  const { max_retry, retry_after_minutes } = call.plan;
  const isMore = call.retried_leg === null && call.attempt <= max_retry;
  const isWorth = call.disposition !== null && retryable.has(call.disposition);
  return isMore && isWorth ? new Date(ended_at.getTime() + retry_after_minutes * 60_000) : null;
}

function seconds(from: Date, to: Date): number {
  return Math.max(0, Math.round((to.getTime() - from.getTime()) / 1_000));
}

function later(one: Date | null, other: Date | null): Date | null {
  return one && other ? (one > other ? one : other) : (one ?? other);
}
