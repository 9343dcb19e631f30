// Events of voice calls only: playbacks, answering machines, AI agents.
import type { AiAgentEndReason, AiAgentTool } from "../../../drivers/ai-agent/driver.ts";
import { withHours } from "../../customer-hours.ts";
import { playbackName, type Call, type Leg } from "../call.ts";
import { afterApology, endApology, handleApologyKey } from "./apologize.ts";
import { awaitsFirstWord } from "../call-outcomes.ts";
import { endCall, finishIfOver, outcomeOfBlocker } from "./end-call.ts";
import type { CallEvent, Command, Transition } from "../events-and-commands.ts";
import { findLeg, patchLeg } from "../legs.ts";
import type { OutboxEvent } from "./outbox-event.ts";
import {
  callerOf,
  endAnsweredCall,
  moveTo,
  play,
  positionOf,
  stopPlaying,
} from "../play-to-caller.ts";
import { requestTransferAgent, transferTarget } from "./request-transfer-agent.ts";
import { refuseCallback } from "../internal/refuse-callback.ts";
import {
  afterMessage,
  afterPrompt,
  enterNode,
  handleMenuKey,
  handleMenuTimeout,
  menuOf,
  withNotes,
} from "./walk-menu.ts";

/** How long the switch may listen for an answering machine. */
export const detect_ms = 8_000;

/** How long the end of a machine's greeting is waited for; the switch reports it within 32 s. */
export const greeting_ms = 40_000;

/** How long after the message its opt-out key still counts: people respond once it is over. */
export const listen_ms = 3_000;

/** Returns the event's transition, or null if it changes nothing. */
export function handleVoiceEvent(call: Call, event: CallEvent): Transition | null {
  if (event.type === "withdrawn") return withdraw(call, event);
  if (event.type === "conversation_ended" && call.stage === "customer")
    return abandonDial(call, event.at);
  if (call.stage === "ending" && event.type === "tool" && event.tool.name === "opt_out")
    return optOut(call);
  if (call.stage !== "talking" || !call.voice) return null;
  switch (event.type) {
    case "played":
      return handlePlayed(call, event.playback, event.ok, event.at);
    case "detected":
      return handleDetected(call, event.answered_by, event.at);
    case "silent":
      return positionOf(call).doing === "greeting" ? startContent(call, event.at) : null;
    case "timeout":
      return handleTimeout(call, event.visit, event.at);
    case "message":
      return afterMessage(call, event.recording, event.ok, event.at);
    case "audible":
      return isConversing(call) ? markAudible(call) : null;
    case "said":
      return withNotes(
        { call, events: [], commands: [] },
        { said: [{ who: event.who, text: event.text }] },
      );
    case "tool":
      return isConversing(call) ? useTool(call, event.tool, event.at) : null;
    case "conversation_ended":
      return isConversing(call) ? endConversation(call, event.reason, event.at) : null;
    default:
      return null;
  }
}

/**
 * Ends the call of a leg that was not dialed; its recipient waits, by the hours that were read last, or is skipped. The
 * outcome of an ending call stays.
 */
function withdraw(
  call: Call,
  { leg: legId, blocker, hours, at }: CallEvent & { type: "withdrawn" },
): Transition | null {
  const leg = findLeg(call, legId);
  if (leg?.state !== "dialing") return null;
  const status = "canceled" as const;
  const over = patchLeg(call, legId, { state: "ended", status, ended_at: at, outcome: "canceled" });
  if (call.stage === "ending") return finishIfOver(over, at);
  return endCall(hours ? withHours(over, hours) : over, at, outcomeOfBlocker(blocker));
}

/**
 * Ends a call whose AI agent was lost before the answer. If the phone has rung it is a failed attempt, so that a
 * retry waits its time.
 */
function abandonDial(call: Call, at: Date): Transition {
  const outcome = outcomeOfBlocker("ai_agent_unavailable");
  if (call.ringing_at === null) return endCall(call, at, outcome);
  return endCall(call, at, { ...outcome, status: "failed", disposition: "failed" });
}

/** Starts AMD, or the content if AMD is off, after the customer's leg was answered. */
export function afterRecipientAnswered(
  call: Call,
  leg: Leg,
  at: Date,
  events: OutboxEvent[],
): Transition {
  if (call.stage !== "customer") return { call, events, commands: [] };
  const talking: Call = { ...call, stage: "talking", status: "in-progress", answered_at: at };
  if (call.voice!.answering_machine === "off") {
    const started = startContent(talking, at);
    return { ...started, events: [...events, ...started.events] };
  }
  const listening = moveTo(talking, { doing: "detecting" });
  const { visit } = listening.position!;
  return {
    call: listening,
    events,
    commands: [
      { type: "detect", leg: leg.id },
      { type: "wait", visit, ms: detect_ms },
    ],
  };
}

/** Starts the campaign's content. */
function startContent(call: Call, at: Date): Transition {
  const { content, audio } = call.voice!;
  switch (content.call_type) {
    case "obd_voice_call":
      return { ...play(call, [content.prompt], { doing: "playing" }), events: [] };
    case "obd_smartvoice":
      // A recipient is claimed only once the script is synthesized.
      return { ...play(call, [{ audio: audio! }], { doing: "playing" }), events: [] };
    case "obd_ivr":
      return enterNode(call, content.menu.start, at);
    case "ai_bot": {
      const { recorded } = call.settings;
      const since = { conversing_since_ms: at.getTime() };
      const conversing = moveTo(call, { doing: "conversing", ...since });
      return {
        call: { ...conversing, recording_state: recorded ? "recording" : "none" },
        events: [],
        commands: [{ type: "converse", leg: callerOf(call) }],
      };
    }
  }
}

function handleDetected(call: Call, answered_by: Call["answered_by"], at: Date): Transition | null {
  if (positionOf(call).doing !== "detecting") return null;
  const detected: Call = { ...call, answered_by };
  const policy = call.voice!.answering_machine;
  if (answered_by !== "machine") return startContent(detected, at);
  if (policy === "play") return awaitGreeting(detected);
  return endAnsweredCall(detected, at, "answering_machine", { disposition: "machine" });
}

/** Waits for the end of the machine's greeting, so that it records the whole message. */
function awaitGreeting(call: Call): Transition {
  const waiting = moveTo(call, { doing: "greeting" });
  const { visit } = waiting.position!;
  return {
    call: waiting,
    events: [],
    commands: [
      { type: "await_silence", leg: callerOf(call) },
      { type: "wait", visit, ms: greeting_ms },
    ],
  };
}

function handlePlayed(call: Call, playback: string, ok: boolean, at: Date): Transition | null {
  const { visit, doing, then_end } = positionOf(call);
  const isPlaying = doing === "playing" || doing === "asking" || doing === "apologizing";
  if (!isPlaying || playback !== playbackName(call, visit)) return null;
  if (doing === "apologizing") return afterApology(call, ok, at);
  if (!ok) return afterFailedPrompt(call, at);
  if (then_end !== null) return endAnsweredCall(call, at, then_end);
  if (menuOf(call)) return afterPrompt(call, at);
  if (listensForKey(call)) return listen(call);
  const isMachine = call.answered_by === "machine";
  return endAnsweredCall(call, at, "played", isMachine ? { disposition: "voicemail_left" } : {});
}

/** Fails the call instead of going on in silence; a transfer goes on, because ringback follows. */
function afterFailedPrompt(call: Call, at: Date): Transition {
  const to = positionOf(call).then_end === null ? transferTarget(call) : null;
  if (to) return requestTransferAgent(call, to);
  return endAnsweredCall(call, at, "playback_failed", { status: "failed", disposition: "failed" });
}

function listensForKey({ voice, answered_by }: Call): boolean {
  return voice!.opt_out_key !== null && answered_by !== "machine";
}

function listen(call: Call): Transition {
  const listening = moveTo(call, { doing: "listening" });
  const { visit } = listening.position!;
  return { call: listening, events: [], commands: [{ type: "wait", visit, ms: listen_ms }] };
}

function handleTimeout(call: Call, visit: number, at: Date): Transition | null {
  const position = positionOf(call);
  if (position.visit !== visit) return null;
  if (position.doing === "detecting") return handleDetected(call, "unknown", at);
  if (position.doing === "greeting") return startContent(call, at);
  if (position.doing === "apologizing") return endApology(call, at);
  if (position.doing === "listening") return endAnsweredCall(call, at, "played");
  return handleMenuTimeout(call, at);
}

/** Passes the recipient's key to the AI agent or the menu, or opts out; null if the key has no meaning. */
export function handleCallerKey(call: Call, digit: string, at: Date): Transition | null {
  if (call.stage === "ending") return isOptOutKey(call, digit) ? optOut(call) : null;
  if (call.stage !== "talking") return null;
  if (isConversing(call)) return { call, events: [], commands: [{ type: "press", digit }] };
  if (positionOf(call).doing === "apologizing") return handleApologyKey(call, digit, at);
  if (!isOptOutKey(call, digit)) return handleMenuKey(call, digit, at);
  const ended = endAnsweredCall({ ...call, opted_out: true }, at, "opted_out");
  return { ...ended, commands: [...stopPlaying(call), ...ended.commands] };
}

/** Whether the key opts out of a plain message: from the answer until the leg is gone, as people press it early and late. */
function isOptOutKey({ voice }: Call, digit: string): boolean {
  const { opt_out_key, content } = voice!;
  const isPlain = content.call_type === "obd_voice_call" || content.call_type === "obd_smartvoice";
  return isPlain && digit === opt_out_key;
}

export function isConversing(call: Call): boolean {
  return call.stage === "talking" && positionOf(call).doing === "conversing";
}

function useTool(call: Call, tool: AiAgentTool, at: Date): Transition {
  switch (tool.name) {
    case "end_call":
      return endAnsweredCall(call, at, call.opted_out ? "opted_out" : "ai_agent_ended");
    case "opt_out":
      return optOut(call);
    case "set_lead_field": {
      const value = { [tool.field]: tool.value };
      const lead_fields = { ...call.lead_fields, ...value };
      const collected = { ...call.collected, ...value };
      return { call: { ...call, lead_fields, collected }, events: [], commands: [] };
    }
    case "schedule_callback": {
      const callback_at = new Date(tool.at);
      const isRefused = refuseCallback(call, callback_at, at) !== null;
      return { call: isRefused ? call : { ...call, callback_at }, events: [], commands: [] };
    }
    case "transfer_to_agent":
      return transferOrEnd(call, at, "transfer_not_answered");
  }
}

/** Opts the caller out at once, because they may hang up before the goodbye is over. */
function optOut(call: Call): Transition {
  return { call: { ...call, opted_out: true }, events: [], commands: [] };
}

function markAudible(call: Call): Transition {
  const position = { ...positionOf(call), is_audible: true };
  return { call: { ...call, position }, events: [], commands: [] };
}

/**
 * Transfers the caller of a lost AI agent to a person if the plan names a target; otherwise ends the call, which
 * has failed if the AI agent has not said a word.
 */
function endConversation(call: Call, reason: AiAgentEndReason | "lost", at: Date): Transition {
  if (call.opted_out) return endAnsweredCall(call, at, "opted_out");
  if (reason === "silence" || reason === "too_long") return endAnsweredCall(call, at, reason);
  const more = awaitsFirstWord(call) ? ({ status: "failed", disposition: "failed" } as const) : {};
  return transferTarget(call)
    ? transferOrEnd(call, at, "agent_lost")
    : endAnsweredCall(call, at, "agent_lost", more);
}

function transferOrEnd(call: Call, at: Date, ended_reason: string): Transition {
  const to = transferTarget(call);
  return to ? requestTransferAgent(call, to) : endAnsweredCall(call, at, ended_reason);
}

/**
 * Returns the call after its caller is bridged to a person, which also starts a missing recording: none was begun if the
 * AI agent could not be connected. A second command changes nothing.
 */
export function bridgeToAgent(call: Call): { call: Call; commands: Command[] } {
  const isMissing = call.settings.recorded && call.recording_state === "none";
  const recording_state = isMissing ? "recording" : call.recording_state;
  const bridged = { ...moveTo(call, { doing: "bridged" }), abandoned: false };
  return {
    call: { ...bridged, recording_state },
    commands: recording_state === "recording" ? [{ type: "record" }] : [],
  };
}
