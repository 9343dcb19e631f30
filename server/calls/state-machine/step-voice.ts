// What happens next on a campaign's call, beside what happens on every call (step.ts).
import type { AgentEnd, AgentTool } from "../../drivers/ai-agent/driver.ts";
import { playbackName, type Call, type Leg } from "./call.ts";
import { endCall, outcomeOfObstacle } from "./end-call.ts";
import type { Act, CallEvent, Obstacle, Step } from "./events-and-acts.ts";
import { findLeg, liveLegs, patchLeg } from "./legs.ts";
import type { News } from "./news.ts";
import { callerOf, endTalk, moveTo, play, positionOf, stopPlaying } from "./play-to-caller.ts";
import { seekAgent, targetOf } from "./seek-agent.ts";
import {
  afterMessage,
  afterPrompt,
  enterNode,
  hearKey,
  hearTimeout,
  menuOf,
  note,
} from "./walk-menu.ts";

/** Listening for a machine takes no longer. */
const detect_ms = 8_000;

/** Nobody asks to be called again later than that. */
const callback_ms_max = 90 * 86_400_000;

/** The step that follows, or null when the event changes nothing. */
export function stepVoice(call: Call, event: CallEvent): Step | null {
  if (event.type === "withdrawn") return withdraw(call, event.leg, event.against, event.at);
  if (call.stage !== "talking" || !call.voice) return null;
  switch (event.type) {
    case "played":
      return hearPlayed(call, event.playback, event.ok, event.at);
    case "detected":
      return hearDetected(call, event.answered_by, event.at);
    case "timeout":
      return hearVoiceTimeout(call, event.visit, event.at);
    case "message":
      return afterMessage(call, event.recording, event.ok, event.at);
    case "said":
      return note({ call, news: [], acts: [] }, { said: [{ who: event.who, text: event.text }] });
    case "tool":
      return isConversing(call) ? useTool(call, event.tool, event.at) : null;
    case "conversation_over":
      return isConversing(call) ? endConversation(call, event.reason, event.at) : null;
    default:
      return null;
  }
}

/** Nothing was dialled: the recipient waits on, or is passed over. */
function withdraw(call: Call, legId: number, against: Obstacle, at: Date): Step | null {
  const leg = findLeg(call, legId);
  if (leg?.state !== "dialing") return null;
  const status = "canceled" as const;
  const over = patchLeg(call, legId, { state: "ended", status, ended_at: at, outcome: "canceled" });
  return endCall(over, at, outcomeOfObstacle(against));
}

/** Whoever was called has answered: somebody or something. */
export function afterCalledAnswered(call: Call, leg: Leg, at: Date, told: News[]): Step {
  if (call.stage !== "customer") return { call, news: told, acts: [] };
  const talking: Call = { ...call, stage: "talking", status: "in-progress", answered_at: at };
  if (call.voice!.answering_machine === "off") {
    const begun = begin(talking, at);
    return { ...begun, news: [...told, ...begun.news] };
  }
  const listening = moveTo(talking, { doing: "detecting" });
  const { visit } = listening.position!;
  return {
    call: listening,
    news: told,
    acts: [
      { do: "detect", leg: leg.id },
      { do: "wait", visit, ms: detect_ms },
    ],
  };
}

/** What the campaign is about. */
function begin(call: Call, at: Date): Step {
  const { content, audio } = call.voice!;
  switch (content.call_type) {
    case "obd_voice_call":
      return { ...play(call, [content.prompt], { doing: "playing" }), news: [] };
    case "obd_smartvoice":
      // Claimed only with its clip.
      return { ...play(call, [{ audio: audio! }], { doing: "playing" }), news: [] };
    case "obd_ivr":
      return enterNode(call, content.menu.start, at);
    case "ai_bot": {
      const { recorded } = call.settings;
      const conversing = moveTo(call, { doing: "conversing" });
      return {
        call: { ...conversing, recording_state: recorded ? "recording" : "none" },
        news: [],
        acts: [{ do: "converse", leg: callerOf(call) }],
      };
    }
  }
}

function hearDetected(call: Call, answered_by: Call["answered_by"], at: Date): Step | null {
  if (positionOf(call).doing !== "detecting") return null;
  const detected: Call = { ...call, answered_by };
  const policy = call.voice!.answering_machine;
  if (answered_by !== "machine" || policy === "play") return begin(detected, at);
  return endTalk(detected, at, "answering_machine", { disposition: "machine" });
}

function hearPlayed(call: Call, playback: string, ok: boolean, at: Date): Step | null {
  const { visit, doing, then_end } = positionOf(call);
  const isPlaying = doing === "playing" || doing === "asking";
  if (!isPlaying || playback !== playbackName(call, visit)) return null;
  if (then_end !== null) return endTalk(call, at, then_end);
  if (menuOf(call)) return afterPrompt(call, at);
  if (ok) return endTalk(call, at, "played");
  return endTalk(call, at, "playback_failed", { status: "failed", disposition: "failed" });
}

function hearVoiceTimeout(call: Call, visit: number, at: Date): Step | null {
  const position = positionOf(call);
  if (position.visit !== visit) return null;
  if (position.doing === "detecting") return hearDetected(call, "unknown", at);
  return hearTimeout(call, at);
}

/** A key of whoever was called. */
export function hearCallerDigit(call: Call, digit: string, at: Date): Step | null {
  if (isConversing(call)) return { call, news: [], acts: [{ do: "press", digit }] };
  const { opt_out_key, content } = call.voice!;
  const isPlain = content.call_type === "obd_voice_call" || content.call_type === "obd_smartvoice";
  if (!isPlain || positionOf(call).doing !== "playing") return hearKey(call, digit, at);
  if (digit !== opt_out_key) return null;
  const leaving = endTalk({ ...call, opted_out: true }, at, "opted_out");
  return { ...leaving, acts: [...stopPlaying(call), ...leaving.acts] };
}

export function isConversing(call: Call): boolean {
  return call.stage === "talking" && positionOf(call).doing === "conversing";
}

function useTool(call: Call, tool: AgentTool, at: Date): Step {
  switch (tool.name) {
    case "end_call":
      return endTalk(call, at, "ai_agent_ended");
    case "opt_out":
      return endTalk({ ...call, opted_out: true }, at, "opted_out");
    case "set_lead_field": {
      const told = { [tool.field]: tool.value };
      const lead_fields = { ...call.lead_fields, ...told };
      const collected = { ...call.collected, ...told };
      return { call: { ...call, lead_fields, collected }, news: [], acts: [] };
    }
    case "schedule_callback": {
      const callback_at = new Date(tool.at);
      const in_ms = callback_at.getTime() - at.getTime();
      const isSensible = in_ms > 0 && in_ms < callback_ms_max;
      return { call: isSensible ? { ...call, callback_at } : call, news: [], acts: [] };
    }
    case "transfer_to_agent":
      return transferOrEnd(call, at, "transfer_not_answered");
  }
}

/** Whoever talked to an agent that is gone is put through to a person, where there is one. */
function endConversation(call: Call, reason: AgentEnd | "lost", at: Date): Step {
  if (reason === "silence" || reason === "too_long") return endTalk(call, at, reason);
  return transferOrEnd(call, at, "agent_lost");
}

function transferOrEnd(call: Call, at: Date, ended_reason: string): Step {
  const to = targetOf(call);
  return to ? seekAgent(call, to) : endTalk(call, at, ended_reason);
}

/** Nobody is left to put the caller through to: the menu goes on, a conversation is over. */
export function afterNobodyFound(call: Call, at: Date): Step {
  const { node: name } = positionOf(call);
  const node = name === null ? undefined : menuOf(call)?.nodes[name];
  const silence: Act = { do: "stop_ringback", leg: callerOf(call) };
  if (node?.type !== "transfer") return endTalk(call, at, "transfer_not_answered");
  const next = enterNode(call, node.otherwise, at);
  return { ...next, acts: [silence, ...next.acts] };
}

/** The one who is to be rung for the caller, if that is still wanted. */
export function isSought(call: Call): boolean {
  return call.stage === "talking" && positionOf(call).doing === "transferring";
}

/** The caller talks to a person from now on. */
export function afterPutThrough(call: Call): { call: Call; acts: Act[] } {
  const recorded = call.settings.recorded && call.recording_state === "none";
  const bridged = moveTo(call, { doing: "bridged" });
  return {
    call: { ...bridged, recording_state: recorded ? "recording" : call.recording_state },
    acts: recorded ? [{ do: "record" }] : [],
  };
}

/** What a new leader, or a new connection, has to do for a campaign's call whose legs are known. */
export function resumeVoice(call: Call): readonly Act[] {
  const { doing, visit, prompts } = positionOf(call);
  const leg = liveLegs(call).find(({ role }) => role === "customer");
  if (call.stage !== "talking" || !leg) return [];
  switch (doing) {
    case "detecting":
      return [{ do: "wait", visit, ms: detect_ms }];
    case "playing":
    case "asking":
      return [{ do: "play", leg: leg.id, visit, prompts }];
    case "waiting":
    case "recording":
      return resumeWaiting(call, visit);
    case "transferring": {
      const isRinging = liveLegs(call).some(({ role }) => role === "transfer");
      const to = targetOf(call);
      const find: Act[] = !isRinging && to ? [{ do: "find_agent", to }] : [];
      return [{ do: "ringback", leg: leg.id }, ...find];
    }
    case "conversing":
      return [{ do: "keep_conversation" }];
    case "bridged":
      return [];
  }
}

function resumeWaiting(call: Call, visit: number): Act[] {
  const { node: name } = positionOf(call);
  const node = name === null ? undefined : menuOf(call)?.nodes[name];
  const seconds =
    node?.type === "record"
      ? node.max_seconds
      : node && "timeout_seconds" in node
        ? node.timeout_seconds
        : 5;
  return [{ do: "wait", visit, ms: seconds * 1_000 }];
}
