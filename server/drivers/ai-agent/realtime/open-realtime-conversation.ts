// Handles each event of the server and each key of the caller.
import type { Timers } from "../../../lib/timers.ts";
import type { CallMedia } from "../../call-media.ts";
import type { AiAgentPlan } from "../driver.ts";
import type { Conversation } from "../open-conversation.ts";
import {
  requestResponse,
  beginResponse,
  cancelResponse,
  endResponse,
  rejectResponse,
  watchResponse,
  type Responses,
} from "./open-responses.ts";
import { openToolCalls, type ToolCalls } from "./open-tool-calls.ts";
import { openPlayback, type Playback } from "./open-playback.ts";
import type { RealtimeSocket } from "./open-realtime-socket.ts";
import { openTranscript, type Transcript } from "./open-transcript.ts";
import type { ServerEvent } from "./read-server-event.ts";
import { greetingInstructions, sessionUpdate } from "./session-update.ts";
import { openEncoder, readFormat, type AudioFormat } from "./audio-format.ts";

/** Speech without a pause for longer means that the server omitted its end. */
const speech_ms_max = 60_000;
const early_keys_max = 32;
/** Requested in this order; a server may still choose another format. */
const formats: readonly AudioFormat[] = ["pcmu", "pcm"];

export type RealtimeConversationParts = {
  readonly plan: AiAgentPlan;
  readonly media: CallMedia;
  readonly timers: Timers;
  readonly conversation: Conversation;
  readonly socket: RealtimeSocket;
  readonly responses: Responses;
  readonly fail: (what: string) => void;
};

export type RealtimeConversation = RealtimeConversationParts & {
  readonly transcript: Transcript;
  readonly tool_calls: ToolCalls;
  /** Null until the session is set up. */
  playback: Playback | null;
  /** The index in `formats` of the requested format; null before the session is created. */
  format_index: number | null;
  /** When the current silence began, by the clock of `timers`, unless either side is active. */
  quiet_from: number;
  speech_began_ms: number | null;
  early_keys: readonly string[];
};

/** Opens the state of one conversation with a realtime server. */
export function openRealtimeConversation(parts: RealtimeConversationParts): RealtimeConversation {
  const { plan, conversation, socket, responses } = parts;
  const request = () => requestResponse(responses);
  return {
    ...parts,
    transcript: openTranscript(conversation),
    tool_calls: openToolCalls({ plan, conversation, send: socket.send, requestResponse: request }),
    playback: null,
    format_index: null,
    quiet_from: parts.timers.now(),
    speech_began_ms: null,
    early_keys: [],
  };
}

/** Returns when the current silence began; null while either side is active or the session is not set up. */
export function quietSince({
  playback,
  responses,
  speech_began_ms,
  ...state
}: RealtimeConversation): number | null {
  if (playback === null || responses.current !== null) return null;
  const speech_ms = speech_began_ms === null ? Infinity : state.timers.now() - speech_began_ms;
  return speech_ms < speech_ms_max ? null : state.quiet_from;
}

/** Handles one event of the server. */
export function handleServerEvent(state: RealtimeConversation, event: ServerEvent): void {
  watchResponse(state.responses);
  if (state.playback) handleConversationEvent(state, state.playback, event);
  else if (event.type === "created" && state.format_index === null) requestFormat(state, 0);
  else if (event.type === "updated" && state.format_index !== null) beginConversation(state, event);
  else if (event.type === "error" && state.format_index !== null)
    requestFormat(state, state.format_index + 1);
  else if (event.type === "error") state.fail("the session was rejected");
}

/** Interrupts the AI agent and passes the key to the model as text. */
export function handleKey(state: RealtimeConversation, key: string): void {
  state.conversation.said("caller", `pressed ${key}`);
  if (state.playback === null) {
    state.early_keys = [...state.early_keys, key].slice(-early_keys_max);
    return;
  }
  interrupt(state, state.playback, { next: true });
  sendKey(state, key);
  requestResponse(state.responses);
}

function requestFormat(state: RealtimeConversation, index: number): void {
  const format = formats[index];
  state.format_index = index;
  if (format) state.socket.send(sessionUpdate(state.plan, format));
  else state.fail("the session's settings were rejected");
}

function beginConversation(
  state: RealtimeConversation,
  event: Extract<ServerEvent, { type: "updated" }>,
): void {
  const { media, socket, conversation } = state;
  const requested = formats[state.format_index ?? 0] ?? "pcmu";
  const [input, output] = [readFormat(event.input, requested), readFormat(event.output, requested)];
  if (input === null || output === null) {
    state.fail("the session's audio format is not supported");
    return;
  }
  state.playback = openPlayback(media, output);
  const encode = openEncoder(input);
  media.listen((samples) => void (conversation.isOver() || socket.sendAudio(encode(samples))));
  restartSilence(state);
  for (const key of state.early_keys) sendKey(state, key);
  requestResponse(state.responses, greetingInstructions(state.plan));
}

function handleConversationEvent(
  state: RealtimeConversation,
  playback: Playback,
  event: ServerEvent,
): void {
  const { responses, transcript, conversation } = state;
  const isCanceled = "response_id" in event && responses.canceled.has(event.response_id);
  switch (event.type) {
    case "speech_started":
      state.speech_began_ms = state.timers.now();
      interrupt(state, playback, { next: false });
      break;
    case "speech_stopped":
      state.speech_began_ms = null;
      restartSilence(state);
      break;
    case "caller_transcript":
      conversation.said("caller", event.text);
      break;
    case "response_created":
      beginResponse(responses, event.response_id);
      break;
    case "audio":
      if (!isCanceled && !playback.play(event)) state.fail("a response exceeded the audio limit");
      restartSilence(state);
      break;
    case "transcript_delta":
      if (!isCanceled) transcript.append(event.item, event.text);
      break;
    case "transcript_done":
      if (!isCanceled) transcript.complete(event.item, event.text);
      break;
    case "function_call":
      if (!isCanceled && !state.tool_calls.handle(event))
        state.fail("the model made too many function calls");
      break;
    case "response_done":
      if (!isCanceled) playback.finish();
      endResponse(responses, event.response_id, event.ok);
      restartSilence(state);
      break;
    case "error":
      rejectResponse(responses, event.of, event.code);
      break;
    case "created":
    case "updated":
      break;
  }
}

/** Stops playback for the caller and reports to the server how much was played. */
function interrupt(
  state: RealtimeConversation,
  playback: Playback,
  options: { readonly next: boolean },
): void {
  const response_id = cancelResponse(state.responses, options);
  for (const { item, content_index, played_ms } of playback.cut(response_id)) {
    state.transcript.interrupt(item);
    state.socket.send({
      type: "conversation.item.truncate",
      item_id: item,
      content_index,
      audio_end_ms: played_ms,
    });
  }
  restartSilence(state);
  state.tool_calls.handleInterruption();
}

function sendKey({ socket }: RealtimeConversation, key: string): void {
  const content = [{ type: "input_text", text: `[pressed ${key}]` }];
  const item = { type: "message", role: "user", content };
  socket.send({ type: "conversation.item.create", item });
}

/** Restarts the silence from when all queued audio is played. */
function restartSilence(state: RealtimeConversation): void {
  state.quiet_from = state.timers.now() + state.media.queued_ms();
}
