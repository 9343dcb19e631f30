// Parses the used events of a server of the Realtime protocol. Nothing is trusted: a value of an unexpected type
// reads as null.

export type ServerEvent =
  | { readonly type: "created" }
  /** The audio formats as received, of any type. */
  | { readonly type: "updated"; readonly input: unknown; readonly output: unknown }
  | { readonly type: "speech_started" }
  | { readonly type: "speech_stopped" }
  | { readonly type: "caller_transcript"; readonly text: string }
  | { readonly type: "response_created"; readonly response_id: string }
  | {
      readonly type: "audio";
      readonly response_id: string;
      readonly item: string;
      readonly content_index: number;
      readonly audio: Buffer;
    }
  | {
      readonly type: "transcript_delta";
      readonly response_id: string;
      readonly item: string;
      readonly text: string;
    }
  | {
      readonly type: "transcript_done";
      readonly response_id: string;
      readonly item: string;
      readonly text: string;
    }
  | {
      readonly type: "function_call";
      readonly response_id: string;
      readonly call: string;
      readonly name: string;
      readonly args: string;
    }
  | { readonly type: "response_done"; readonly response_id: string; readonly ok: boolean }
  /** `of`: the client event that caused the error, if named. */
  | { readonly type: "error"; readonly code: string | null; readonly of: string | null };

type Fields = Readonly<Record<string, unknown>>;

const id_characters_max = 256;
const args_characters_max = 16_384;

/** Returns the event of a message, or null if it is unknown or malformed. */
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
    typeof text === "string" ? { type: "caller_transcript", text } : null,
  "response.created": (event) => {
    const response_id = asId(asFields(event["response"])["id"]);
    return response_id === null ? null : { type: "response_created", response_id };
  },
  "response.output_audio.delta": (event) => {
    const place = readPlace(event);
    const { content_index, delta } = event;
    if (place === null || typeof delta !== "string") return null;
    const index = typeof content_index === "number" && Number.isSafeInteger(content_index);
    return {
      type: "audio",
      ...place,
      content_index: index ? content_index : 0,
      audio: Buffer.from(delta, "base64"),
    };
  },
  "response.output_audio_transcript.delta": (event) =>
    readTranscript("transcript_delta", event, event["delta"]),
  "response.output_audio_transcript.done": (event) =>
    readTranscript("transcript_done", event, event["transcript"]),
  "response.function_call_arguments.done": (event) => readCall(event, event),
  // Servers that do not name the function in the event above name it here.
  "response.output_item.done": (event) => {
    const item = asFields(event["item"]);
    const isWhole = item["type"] === "function_call" && item["status"] !== "incomplete";
    return isWhole ? readCall(event, item) : null;
  },
  "response.done": (event) => {
    const response = asFields(event["response"]);
    const response_id = asId(response["id"]);
    if (response_id === null) return null;
    return { type: "response_done", response_id, ok: response["status"] !== "failed" };
  },
  error: (event) => {
    const error = asFields(event["error"]);
    const code = error["code"];
    // Error messages may quote the API key, so only a code of this form is kept.
    const isCode = typeof code === "string" && /^[a-z_]{1,64}$/.test(code);
    return { type: "error", code: isCode ? code : null, of: asId(error["event_id"]) };
  },
};

function readTranscript(
  type: "transcript_delta" | "transcript_done",
  event: Fields,
  text: unknown,
): ServerEvent | null {
  const place = readPlace(event);
  return place === null || typeof text !== "string" ? null : { type, ...place, text };
}

function readCall(event: Fields, call: Fields): ServerEvent | null {
  const response_id = asId(event["response_id"]);
  const id = asId(call["call_id"]);
  const name = asId(call["name"]);
  const args = call["arguments"];
  if (response_id === null || id === null || name === null) return null;
  if (typeof args !== "string" || args.length > args_characters_max) return null;
  return { type: "function_call", response_id, call: id, name, args };
}

function readPlace(event: Fields): { response_id: string; item: string } | null {
  const response_id = asId(event["response_id"]);
  const item = asId(event["item_id"]);
  return response_id === null || item === null ? null : { response_id, item };
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
