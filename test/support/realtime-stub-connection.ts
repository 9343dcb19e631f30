import { WebSocket } from "ws";
import { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from "../../server/lib/audio/g711.ts";
import type { StubAnswer, StubFormat, StubPrompt, StubScript } from "./realtime-stub.ts";
import { loudnessOf, tone } from "./tones.ts";

type Event = Readonly<Record<string, unknown>>;

/** One client of the stub and its traffic. */
export type StubConnection = {
  readonly model: string | null;
  readonly authorization: string | null;
  /** All received events except audio. */
  readonly events: readonly Event[];
  /** The received events of one type. */
  readonly eventsOf: (type: string) => readonly Event[];
  /** All received audio, as bytes of its format. */
  readonly audio: () => Buffer;
  /** The duration of the received audio. */
  readonly audio_ms: () => number;
  /** The loudness of its loudest 20 ms. */
  readonly loudest: () => number;
  /** The items that were sent, and how much of each the client reported as played. */
  readonly items: ReadonlyMap<string, { ms: number; played_ms: number | null }>;
  readonly violations: readonly string[];
  readonly isOpen: () => boolean;
  /** Sends an event or any text. */
  readonly send: (event: object | string) => void;
  /** Sends a response without a request. */
  readonly say: (answer: StubAnswer) => void;
  /** Ends the response that is held. */
  readonly release: () => void;
  /** Ends the connection without a close frame. */
  readonly cut: () => void;
  readonly close: (code: number) => void;
};

const frame_ms = 20;
const loud = 1_000;
const onset_frames = 3;
const end_frames = 25;
const delta_ms = 100;

type Setting = {
  readonly model: string | null;
  readonly authorization: string | null;
  readonly order: number;
  readonly script: () => StubScript;
};

export function openStubConnection(client: WebSocket, setting: Setting): StubConnection {
  const { script, order } = setting;
  const events: Event[] = [];
  const violations: string[] = [];
  const received_audio: Buffer[] = [];
  const items = new Map<string, { ms: number; played_ms: number | null }>();
  let formats: { input: StubFormat; output: StubFormat } | null = null;
  let count = 0;
  let loudest = 0;
  let active: { readonly id: string; readonly answer: StubAnswer } | null = null;
  let prompt: StubPrompt = { kind: "text", text: "" };
  const nextId = (prefix: string) => `${prefix}_${order}_${++count}`;
  const send = (event: object | string) => {
    if (client.readyState === WebSocket.OPEN)
      client.send(typeof event === "string" ? event : JSON.stringify(event));
  };
  const sendError = (code: string, of: unknown) =>
    send({ type: "error", error: { type: "invalid_request_error", code, event_id: of ?? null } });
  const finish = (status: "completed" | "cancelled" | "failed") => {
    if (active) send({ type: "response.done", response: { id: active.id, status } });
    active = null;
  };
  const speak = (response_id: string, answer: StubAnswer) => {
    const item_id = nextId("item");
    const place = { response_id, item_id, output_index: 0, content_index: 0 };
    const ms = answer.tone_ms ?? 1_000;
    items.set(item_id, { ms, played_ms: null });
    send({
      type: "response.output_item.added",
      response_id,
      item: { id: item_id, type: "message" },
    });
    send({ type: "response.output_audio_transcript.delta", ...place, delta: answer.say });
    const format = formats?.output ?? { type: "audio/pcmu" };
    const bytes = encodeTone(ms, answer.hz ?? 440, format);
    const step = (delta_ms * bytes.length) / ms;
    for (let at = 0; at < bytes.length; at += step) {
      const delta = bytes.subarray(at, at + step).toString("base64");
      send({ type: "response.output_audio.delta", ...place, delta });
    }
    if (answer.held) return;
    send({ type: "response.output_audio.done", ...place });
    const transcript = answer.say;
    send({ type: "response.output_audio_transcript.done", ...place, transcript });
  };
  const callFunction = (response_id: string, { name, args }: NonNullable<StubAnswer["call"]>) => {
    const [id, call_id] = [nextId("item"), nextId("call")];
    const text = typeof args === "string" ? args : JSON.stringify(args);
    const call = { name, call_id, arguments: text };
    const type = "response.function_call_arguments.done";
    send({ type, response_id, item_id: id, output_index: 1, ...call });
    const item = { id, type: "function_call", status: "completed", ...call };
    send({ type: "response.output_item.done", response_id, output_index: 1, item });
  };
  const say = (answer: StubAnswer | null) => {
    if (answer === null) return;
    const id = nextId("answer");
    active = { id, answer };
    send({ type: "response.created", response: { id, status: "in_progress" } });
    if (answer.say !== undefined) speak(id, answer);
    if (answer.held) return;
    if (answer.call) callFunction(id, answer.call);
    finish(answer.fails ? "failed" : "completed");
  };
  const detectSpeech = openSpeechDetector({
    began() {
      send({
        type: "input_audio_buffer.speech_started",
        audio_start_ms: 0,
        item_id: nextId("item"),
      });
      if (active) finish("cancelled");
    },
    ended() {
      const transcript = script().transcribe();
      send({ type: "input_audio_buffer.speech_stopped", audio_end_ms: 0 });
      const type = "conversation.item.input_audio_transcription.completed";
      send({ type, item_id: nextId("item"), content_index: 0, transcript });
      say(script().answer({ kind: "speech", text: transcript }));
    },
  });
  const handlers: Readonly<Record<string, (event: Event) => void>> = {
    "session.update"(event) {
      const session = event["session"] as {
        type?: string;
        audio: Record<"input" | "output", { format: StubFormat }>;
      };
      if (session.type !== "realtime") violations.push("a session without the type realtime");
      const input = script().grant(session.audio.input.format);
      const output = script().grant(session.audio.output.format);
      if (!input || !output) {
        sendError("invalid_value", event["event_id"]);
        return;
      }
      formats = { input, output };
      const audio = { input: { format: input }, output: { format: output } };
      send({ type: "session.updated", session: { ...session, audio } });
    },
    "input_audio_buffer.append"({ audio }) {
      if (!formats) violations.push("audio before the session was set up");
      const bytes = Buffer.from(String(audio), "base64");
      received_audio.push(bytes);
      const samples = decodeSound(bytes, formats?.input ?? { type: "audio/pcmu" });
      loudest = Math.max(loudest, loudnessOf(samples));
      detectSpeech(samples);
    },
    "conversation.item.create"({ item }) {
      const { content, output } = item as { content?: [{ text: string }]; output?: string };
      prompt = content
        ? { kind: "text", text: content[0].text }
        : { kind: "function", text: output ?? "" };
    },
    "response.create"({ response, event_id }) {
      const { instructions } = (response ?? {}) as { instructions?: string };
      if (active) sendError("conversation_already_has_active_response", event_id);
      else if (instructions === undefined) say(script().answer(prompt));
      else say(script().answer({ kind: "instructions", text: instructions }));
    },
    "response.cancel"({ response_id, event_id }) {
      if (active?.id === response_id) finish("cancelled");
      else sendError("response_cancel_not_active", event_id);
    },
    "conversation.item.truncate"({ item_id, audio_end_ms, content_index }) {
      const item = items.get(String(item_id));
      const isWhole = Number.isSafeInteger(audio_end_ms) && content_index === 0;
      if (!item || !isWhole || Number(audio_end_ms) > item.ms)
        violations.push(`an invalid truncation of ${String(item_id)} at ${String(audio_end_ms)}`);
      else item.played_ms = Number(audio_end_ms);
    },
  };
  client.on("error", () => {});
  client.on("message", (data) => {
    const event = JSON.parse((data as Buffer).toString()) as Event;
    const type = String(event["type"]);
    if (type !== "input_audio_buffer.append") events.push(event);
    const handle = handlers[type];
    if (handle) handle(event);
    else violations.push(`an unknown event type ${type}`);
  });
  if (!script().silent) send({ type: "session.created", session: { type: "realtime" } });
  return {
    model: setting.model,
    authorization: setting.authorization,
    events,
    eventsOf: (type) => events.filter((event) => event["type"] === type),
    audio: () => Buffer.concat(received_audio),
    audio_ms() {
      const { length } = Buffer.concat(received_audio);
      return formats?.input.type === "audio/pcm" ? length / 48 : length / 8;
    },
    loudest: () => loudest,
    items,
    violations,
    isOpen: () => client.readyState === WebSocket.OPEN,
    send,
    say,
    release() {
      if (active?.answer.call) callFunction(active.id, active.answer.call);
      finish("completed");
    },
    cut: () => client.terminate(),
    close: (code) => client.close(code),
  };
}

function encodeTone(ms: number, hz: number, { type }: StubFormat): Buffer {
  if (type === "audio/pcm") return tone(ms, { hz, rate_hz: 24_000 });
  return type === "audio/pcma" ? encodeALaw(tone(ms, { hz })) : encodeMuLaw(tone(ms, { hz }));
}

/** Decodes to about 8 kHz, enough to distinguish sound from silence. */
function decodeSound(bytes: Buffer, { type }: StubFormat): Buffer {
  if (type === "audio/pcma") return decodeALaw(bytes);
  if (type !== "audio/pcm") return decodeMuLaw(bytes);
  const samples = Buffer.alloc(Math.floor(bytes.length / 6) * 2);
  for (let at = 0; at < samples.length; at += 2) bytes.copy(samples, at, at * 3, at * 3 + 2);
  return samples;
}

/** Detects when speech begins and ends, by the energy of frames of 20 ms. */
function openSpeechDetector({ began, ended }: { began: () => void; ended: () => void }) {
  let rest = Buffer.alloc(0);
  let isSpeech = false;
  let run = 0;
  return (samples: Buffer) => {
    rest = Buffer.concat([rest, samples]);
    const bytes = frame_ms * 16;
    for (; rest.length >= bytes; rest = rest.subarray(bytes)) {
      const isLoud = loudnessOf(rest.subarray(0, bytes)) > loud;
      run = isLoud === isSpeech ? 0 : run + 1;
      if (run < (isSpeech ? end_frames : onset_frames)) continue;
      run = 0;
      isSpeech = !isSpeech;
      if (isSpeech) began();
      else ended();
    }
  };
}
