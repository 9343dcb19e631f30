// Checks that a realtime server accepts a model, a transcription model and a voice, by a session without a call.
// A server may refuse them when the connection opens, when the session is set up, or only in its first
// response, so all three happen.
import { WebSocket } from "ws";
import type { AiAgentPlan, ModelCheck } from "../driver.ts";
import { describeFormat, type AudioFormat } from "./audio-format.ts";
import type { RealtimeSettings } from "./open-realtime-socket.ts";
import { describeTranscription } from "./describe-transcription.ts";

const message_bytes_max = 1_048_576;
const check_ms = 10_000;
/** The formats that conversations request, in their order. */
const formats: readonly AudioFormat[] = ["pcmu", "pcm"];

/** The parts of an AI agent that the server may refuse. */
export type CheckedPlan = Pick<AiAgentPlan, "model" | "voice" | "language">;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns whether the server accepts the plan; `unavailable` if it does not answer within 10 s, or refuses for
 * another reason, such as its load. Costs one response of a few words.
 */
export async function checkModel(
  settings: RealtimeSettings,
  plan: CheckedPlan,
): Promise<ModelCheck> {
  const url = new URL(settings.url);
  url.searchParams.set("model", plan.model ?? settings.model);
  const { promise, resolve } = Promise.withResolvers<ModelCheck>();
  const socket = new WebSocket(url, {
    headers: settings.api_key === null ? {} : { authorization: `Bearer ${settings.api_key}` },
    maxPayload: message_bytes_max,
    perMessageDeflate: false,
  });
  const timer = setTimeout(() => resolve({ outcome: "unavailable", code: "timeout" }), check_ms);
  socket.on("error", () => resolve({ outcome: "unavailable", code: "unreachable" }));
  socket.on("unexpected-response", (_request, { statusCode = 0 }) =>
    resolve(refusedHandshake(statusCode)),
  );
  // The reason has the form `invalid_request_error.model_not_found`.
  socket.on("close", (_code, reason) =>
    resolve(refusalOf({ code: reason.toString().split(".").at(-1) }) ?? disconnected),
  );
  const send = (event: object) => socket.send(JSON.stringify(event));
  const handle = openSetup(settings, plan, send, resolve);
  socket.on("message", (data, isBinary) => {
    if (!isBinary && socket.readyState === WebSocket.OPEN)
      handle(parse((data as Buffer).toString()));
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.terminate();
  }
}

const disconnected: ModelCheck = { outcome: "unavailable", code: "disconnected" };

/** Returns the handler of the server's events, which sets up a session and requests one response. */
function openSetup(
  settings: RealtimeSettings,
  plan: CheckedPlan,
  send: (event: object) => void,
  resolve: (result: ModelCheck) => void,
): (event: Fields) => void {
  let requested = -1;
  const requestFormat = (refusal: ModelCheck) => {
    requested += 1;
    const format = formats[requested];
    if (format) send(sessionUpdate(settings, plan, format));
    else resolve(refusal);
  };
  const handleError = (error: Fields) => {
    const code = codeOf(error["code"]);
    const refusal = refusalOf(error);
    if (refusal) resolve(refusal);
    else requestFormat({ outcome: "refused", part: "settings", code });
  };
  return (event) => {
    switch (event["type"]) {
      case "session.created":
        if (requested === -1) requestFormat(disconnected);
        break;
      case "session.updated":
        send(short_response);
        break;
      case "error":
        handleError(asFields(event["error"]));
        break;
      case "response.done": {
        const response = asFields(event["response"]);
        const error = asFields(asFields(response["status_details"])["error"]);
        const isFailed = response["status"] === "failed";
        const failed = refusalOf(error) ?? { outcome: "unavailable", code: codeOf(error["code"]) };
        resolve(isFailed ? failed : { outcome: "accepted" });
      }
    }
  };
}

function sessionUpdate(
  { transcription_model }: RealtimeSettings,
  { voice, language }: CheckedPlan,
  format: AudioFormat,
): object {
  const output = { format: describeFormat(format), ...(voice === null ? {} : { voice }) };
  const transcription = describeTranscription(transcription_model, language);
  const input = {
    format: describeFormat(format),
    transcription,
    turn_detection: { type: "server_vad" },
  };
  return {
    type: "session.update",
    session: { type: "realtime", output_modalities: ["audio"], audio: { input, output } },
  };
}

const short_response = {
  type: "response.create",
  response: { output_modalities: ["text"], instructions: "Answer with the word ready." },
};

/** An unknown model is a 404 of some servers, a revoked key a 401. */
function refusedHandshake(status: number): ModelCheck {
  const code = `http_${status}`;
  if (status === 401 || status === 403) return { outcome: "refused", part: "key", code };
  if (status === 400 || status === 404) return { outcome: "refused", part: "model", code };
  return { outcome: "unavailable", code };
}

/** Returns the refusal of a part that the error names, or null for any other error. */
function refusalOf(error: Fields): ModelCheck | null {
  const code = codeOf(error["code"]);
  const param = typeof error["param"] === "string" ? error["param"] : "";
  const part = param.includes("transcription")
    ? "transcription model"
    : `${param} ${code}`.includes("voice")
      ? "voice"
      : `${param} ${code}`.includes("model")
        ? "model"
        : /api_key|authentication|permission/.test(code)
          ? "key"
          : null;
  return part && { outcome: "refused", part, code };
}

/** Error messages may quote the API key, so only a code of this form is kept. */
function codeOf(code: unknown): string {
  return typeof code === "string" && /^[a-z_]{1,64}$/.test(code) ? code : "unknown_error";
}

function parse(text: string): Fields {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return {};
  }
}

function asFields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
