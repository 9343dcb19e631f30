// What a server of the Realtime protocol sends, as far as it is used. Nothing of it is trusted: what is not
// of the expected kind reads as null.

export type ServerEvent =
  | { readonly type: "created" }
  /** The formats as they were told, of whatever kind. */
  | { readonly type: "updated"; readonly input: unknown; readonly output: unknown }
  | { readonly type: "speech_started" }
  | { readonly type: "speech_stopped" }
  | { readonly type: "caller_said"; readonly text: string }
  | { readonly type: "answer_begun"; readonly answer: string }
  | {
      readonly type: "sound";
      readonly answer: string;
      readonly item: string;
      readonly content_index: number;
      readonly sound: Buffer;
    }
  | {
      readonly type: "words";
      readonly answer: string;
      readonly item: string;
      readonly text: string;
    }
  | {
      readonly type: "words_done";
      readonly answer: string;
      readonly item: string;
      readonly text: string;
    }
  | {
      readonly type: "call";
      readonly answer: string;
      readonly call: string;
      readonly name: string;
      readonly args: string;
    }
  | { readonly type: "answer_done"; readonly answer: string; readonly ok: boolean }
  /** `of`: the event of ours that it is about, if it says so. */
  | { readonly type: "error"; readonly code: string | null; readonly of: string | null };

type Fields = Readonly<Record<string, unknown>>;

const id_characters_max = 256;
const args_characters_max = 16_384;

/** The event in a message, or null. */
export function readServerEvent(message: string): ServerEvent | null {
  let event: unknown;
  try {
    event = JSON.parse(message);
  } catch {
    return null;
  }
  const fields = asFields(event);
  const type = fields["type"];
  return typeof type === "string" && Object.hasOwn(readers, type) ? readers[type]!(fields) : null;
}

const readers: Readonly<Record<string, (event: Fields) => ServerEvent | null>> = {
  "session.created": () => ({ type: "created" }),
  "session.updated": (event) => {
    const audio = asFields(asFields(event["session"])["audio"]);
    const formatOf = (way: string) => asFields(audio[way])["format"];
    return { type: "updated", input: formatOf("input"), output: formatOf("output") };
  },
  "input_audio_buffer.speech_started": () => ({ type: "speech_started" }),
  "input_audio_buffer.speech_stopped": () => ({ type: "speech_stopped" }),
  "conversation.item.input_audio_transcription.completed": ({ transcript: text }) =>
    typeof text === "string" ? { type: "caller_said", text } : null,
  "response.created": (event) => {
    const answer = asId(asFields(event["response"])["id"]);
    return answer === null ? null : { type: "answer_begun", answer };
  },
  "response.output_audio.delta": (event) => {
    const place = placeOf(event);
    const { content_index, delta } = event;
    if (place === null || typeof delta !== "string") return null;
    const index = typeof content_index === "number" && Number.isSafeInteger(content_index);
    return {
      type: "sound",
      ...place,
      content_index: index ? content_index : 0,
      sound: Buffer.from(delta, "base64"),
    };
  },
  "response.output_audio_transcript.delta": (event) => words("words", event, event["delta"]),
  "response.output_audio_transcript.done": (event) =>
    words("words_done", event, event["transcript"]),
  "response.function_call_arguments.done": (event) => callOf(event, event),
  // Servers that do not name the function there do so here.
  "response.output_item.done": (event) => {
    const item = asFields(event["item"]);
    const isWhole = item["type"] === "function_call" && item["status"] !== "incomplete";
    return isWhole ? callOf(event, item) : null;
  },
  "response.done": (event) => {
    const response = asFields(event["response"]);
    const answer = asId(response["id"]);
    if (answer === null) return null;
    return { type: "answer_done", answer, ok: response["status"] !== "failed" };
  },
  error: (event) => {
    const error = asFields(event["error"]);
    const code = error["code"];
    // What an error says may quote our key; a code of this form tells enough.
    const isCode = typeof code === "string" && /^[a-z_]{1,64}$/.test(code);
    return { type: "error", code: isCode ? code : null, of: asId(error["event_id"]) };
  },
};

function words(type: "words" | "words_done", event: Fields, text: unknown): ServerEvent | null {
  const place = placeOf(event);
  return place === null || typeof text !== "string" ? null : { type, ...place, text };
}

function callOf(event: Fields, call: Fields): ServerEvent | null {
  const answer = asId(event["response_id"]);
  const id = asId(call["call_id"]);
  const name = asId(call["name"]);
  const args = call["arguments"];
  if (answer === null || id === null || name === null) return null;
  if (typeof args !== "string" || args.length > args_characters_max) return null;
  return { type: "call", answer, call: id, name, args };
}

function placeOf(event: Fields): { answer: string; item: string } | null {
  const answer = asId(event["response_id"]);
  const item = asId(event["item_id"]);
  return answer === null || item === null ? null : { answer, item };
}

function asFields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

function asId(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= id_characters_max
    ? value
    : null;
}
