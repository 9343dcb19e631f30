// Handles each event of the server and each key of the caller.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { Timers } from "../../../lib/timers.ts";
import type { CallMedia } from "../../call-media.ts";
import type { AiAgentPlan, CallbackTerms } from "../driver.ts";
import type { Conversation } from "../open-conversation.ts";
import {
  isResponding,
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
import type { SessionFormats } from "./open-realtime-session.ts";
import { greetingInstructions, greetingReminder } from "./session-update.ts";
import { openEncoder } from "./audio-format.ts";

/** Speech without a pause for longer means that the server omitted its end. */
const speech_ms_max = 60_000;
const early_texts_max = 32;
/** Silence that ends the speech of a caller who has hung up, by the server's voice activity detection. */
const pause = Buffer.alloc(1_000 * bytes_per_ms);

export type RealtimeConversationParts = {
  readonly plan: AiAgentPlan;
  readonly callbacks: CallbackTerms;
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
  /** Encodes the caller's audio; null until the session is set up. */
  encode: ((samples: Buffer) => Buffer) | null;
  /** The server is about to respond to speech that has ended. */
  isResponseDue: boolean;
  /** Whether the response in progress has audio. */
  hasAudio: boolean;
  /** When the current silence began, by the clock of `timers`, unless either side is active. */
  quiet_from: number;
  speech_began_ms: number | null;
  /** Nothing of the greeting was played, and the model was not reminded of it. */
  isGreetingDue: boolean;
  early_texts: readonly string[];
};

/** Opens the state of one conversation with a realtime server. */
export function openRealtimeConversation(parts: RealtimeConversationParts): RealtimeConversation {
  const { plan, callbacks, conversation, socket, responses } = parts;
  const tool_calls = openToolCalls({
    plan,
    callbacks,
    conversation,
    send: socket.send,
    requestResponse: () => requestResponse(responses),
  });
  return {
    ...parts,
    transcript: openTranscript(conversation),
    tool_calls,
    playback: null,
    encode: null,
    isResponseDue: false,
    hasAudio: false,
    quiet_from: parts.timers.now(),
    speech_began_ms: null,
    isGreetingDue: true,
    early_texts: [],
  };
}

/** Returns when the current silence began; null while either side is active or the session is not set up. */
export function quietSince(state: RealtimeConversation): number | null {
  if (state.playback === null || isResponding(state.responses)) return null;
  return isCallerSpeaking(state) ? null : state.quiet_from;
}

function isCallerSpeaking({ speech_began_ms, timers }: RealtimeConversation): boolean {
  return speech_began_ms !== null && timers.now() - speech_began_ms < speech_ms_max;
}

/** Handles one event of the server. */
export function handleServerEvent(state: RealtimeConversation, event: ServerEvent): void {
  watchResponse(state.responses);
  if (state.playback) handleConversationEvent(state, state.playback, event);
  if (state.conversation.isHungUp() && !hasLastWords(state)) state.conversation.stop();
}

/** Lets the server respond to the caller's last words; returns whether there are any. */
export function handleHangUp(state: RealtimeConversation): boolean {
  if (state.speech_began_ms !== null && state.encode) state.socket.sendAudio(state.encode(pause));
  return hasLastWords(state);
}

function hasLastWords({
  speech_began_ms,
  isResponseDue,
  responses,
}: RealtimeConversation): boolean {
  return speech_began_ms !== null || isResponseDue || isResponding(responses);
}

/** Interrupts the AI agent and passes the key to the model as text. */
export function handleKey(state: RealtimeConversation, key: string): void {
  state.conversation.said("caller", `pressed ${key}`);
  handleText(state, `[pressed ${key}]`);
}

/** Interrupts the AI agent and passes what the caller types to the model. */
export function handleUtterance(state: RealtimeConversation, text: string): void {
  state.conversation.said("caller", text);
  handleText(state, text);
}

function handleText(state: RealtimeConversation, text: string): void {
  if (state.playback === null) {
    state.early_texts = [...state.early_texts, text].slice(-early_texts_max);
    return;
  }
  interrupt(state, state.playback, { next: true });
  sendText(state, text);
  requestResponse(state.responses);
}

/** Begins the conversation in a session that is set up. */
export function beginConversation(
  state: RealtimeConversation,
  { input, output }: SessionFormats,
): void {
  const { media, socket, conversation } = state;
  if (conversation.isOver()) return;
  state.playback = openPlayback(media, output);
  const encode = openEncoder(input);
  state.encode = encode;
  media.listen((samples) => void (conversation.isOver() || socket.sendAudio(encode(samples))));
  restartSilence(state);
  for (const text of state.early_texts) sendText(state, text);
  requestResponse(state.responses, greetingDue(state));
}

/** Returns the instructions for a greeting of which nothing was played; null if none is due. */
export function greetingDue({ isGreetingDue, plan }: RealtimeConversation): string | null {
  return isGreetingDue ? greetingInstructions(plan) : null;
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
      state.isResponseDue = true;
      restartSilence(state);
      break;
    case "caller_transcript":
      conversation.said("caller", event.text);
      break;
    case "response_created":
      handleResponseCreated(state, playback, event.response_id);
      break;
    case "audio":
      if (!isCanceled) playAudio(state, playback, event);
      restartSilence(state);
      break;
    case "transcript_delta":
      if (!isCanceled) transcript.append(event.item, event.text);
      break;
    case "transcript_done":
      if (!isCanceled) transcript.complete(event.item, event.text);
      break;
    case "function_call":
      // An opt-out counts even if the caller interrupts the response.
      if (isCanceled && event.name !== "opt_out") break;
      if (!state.tool_calls.handle(event)) state.fail("the model made too many function calls");
      break;
    case "response_done":
      if (!isCanceled) playback.finish();
      else remindOfGreeting(state);
      endResponse(responses, event.response_id, event.ok);
      if (!isCanceled && event.ok) state.tool_calls.handleResponseEnd(state.hasAudio);
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

function handleResponseCreated(
  state: RealtimeConversation,
  playback: Playback,
  response_id: string,
): void {
  // One that was not requested is the server's own: it follows the end of the speech, reported or not.
  const isRequested = state.responses.current?.id === null;
  beginResponse(state.responses, response_id);
  state.isResponseDue = false;
  state.hasAudio = false;
  if (isRequested && isCallerSpeaking(state)) interrupt(state, playback, { next: false });
}

/** Lets the next response begin with a greeting that was canceled before any of it was played. */
function remindOfGreeting(state: RealtimeConversation): void {
  const reminder = state.isGreetingDue ? greetingReminder(state.plan) : null;
  state.isGreetingDue = false;
  if (reminder !== null) sendText(state, reminder, "system");
}

function playAudio(
  state: RealtimeConversation,
  playback: Playback,
  audio: Extract<ServerEvent, { type: "audio" }>,
): void {
  state.hasAudio = true;
  state.isGreetingDue = false;
  state.conversation.audible();
  if (!playback.play(audio)) state.fail("a response exceeded the audio limit");
}

/** Stops playback for the caller and reports to the server how much was played. */
function interrupt(
  state: RealtimeConversation,
  playback: Playback,
  options: { readonly next: boolean },
): void {
  if (state.responses.stopRepeat !== null) remindOfGreeting(state);
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

function sendText(
  { socket }: RealtimeConversation,
  text: string,
  role: "user" | "system" = "user",
): void {
  const content = [{ type: "input_text", text }];
  const item = { type: "message", role, content };
  socket.send({ type: "conversation.item.create", item });
}

/** Restarts the silence from when all queued audio is played. */
function restartSilence(state: RealtimeConversation): void {
  state.quiet_from = state.timers.now() + state.media.queued_ms();
}
