// Connects a person's WebSocket to an AI agent: the conversation of a call, without a call.
import type { WebSocket } from "ws";
import { synthesizerOf } from "../../../calls/audio/audio-files.ts";
import { callbackTerms } from "../../../calls/state-machine/callback-terms.ts";
import { fillAiAgentPlan } from "../../../calls/state-machine/fill-ai-agent-plan.ts";
import { findCustomerHours } from "../../../calls/customer-hours.ts";
import type { AiAgentEvent, AiAgentSession } from "../../../drivers/ai-agent/driver.ts";
import type { App } from "../../../engine/app.ts";
import { systemTimers } from "../../../lib/timers.ts";
import { storedAiAgent } from "../ai-agent-schema.ts";
import type { TalkChecks, TalkInput, TalkOutput, TalkStart } from "../talk-schema.ts";
import { openTalkMedia, type TalkMedia } from "./open-talk-media.ts";

/** Why the server closes a socket (RFC 6455 section 7.4.1). */
export const close_codes = { done: 1000, stopping: 1001, refused: 1008 } as const;

const start_ms_max = 10_000;

type Talk = {
  readonly media: TalkMedia;
  readonly session: AiAgentSession;
};

/** Talks until one side ends it. Nothing is stored, charged or suppressed, and no call is placed. */
export function converse(
  app: Pick<App, "aiAgentDrivers" | "clock" | "db" | "log" | "speech">,
  account_id: number,
  socket: WebSocket,
  checks: TalkChecks,
): void {
  let talk: Talk | null = null;
  let isStarted = false;
  const fail = (err: unknown) => {
    app.log.warn({ err, account_id }, "could not talk to an AI agent");
    close(socket, { type: "unavailable", reason: "The server could not start the conversation" });
  };
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) {
      if (talk && !talk.media.receive(data)) socket.close(close_codes.refused, "audio too fast");
      return;
    }
    const message = parse(data);
    if (!isStarted) {
      isStarted = true;
      start(app, account_id, socket, checks, message)
        .then((begun) => (talk = begun))
        .catch(fail);
    } else if (talk && checks.input(message).length === 0) {
      const input = message as TalkInput;
      if (input.type === "key") talk.session.digit(input.key);
      else talk.session.utterance(input.text);
    } else if (talk) socket.close(close_codes.refused, "not a valid message");
  });
  const cancel = systemTimers.schedule(() => {
    if (!isStarted) socket.close(close_codes.refused, "no start message");
  }, start_ms_max);
  socket.on("close", () => {
    cancel();
    talk?.media.end();
  });
}

async function start(
  app: Pick<App, "aiAgentDrivers" | "clock" | "db" | "speech">,
  account_id: number,
  socket: WebSocket,
  checks: TalkChecks,
  message: unknown,
): Promise<Talk | null> {
  const errors = await checks.start(message);
  if (errors.length > 0) return close(socket, { type: "invalid", errors });
  const { agent, variables } = message as TalkStart;
  const { plan } = storedAiAgent(agent);
  // No callback is placed: any recipient of the account stands for the person.
  const [hours] = await findCustomerHours(app.db.query, [account_id, ""]);
  const terms = callbackTerms(app.clock, {
    settings: hours!,
    to_phone: "",
    contact_time_zones: [],
    voice: { recipient_id: 0, callbacks: 0 },
  });
  // validateAiAgent accepts a plan only with its driver.
  const prepared = app.aiAgentDrivers[plan.driver]!.prepare(
    fillAiAgentPlan(plan, variables ?? {}),
    terms,
    synthesizerOf(app, account_id),
  );
  const failure = await prepared.ready();
  if (failure !== null || socket.readyState !== socket.OPEN) {
    await prepared.close();
    return failure && close(socket, { type: "unavailable", reason: failure.reason });
  }
  const media = openTalkMedia(socket, systemTimers, () => send(socket, { type: "flush" }));
  send(socket, { type: "ready" });
  const session = prepared.start(media, (event) => {
    if (isLast(event)) close(socket, event);
    else send(socket, event);
  });
  return { media, session };
}

function isLast(event: AiAgentEvent): boolean {
  if (event.type === "tool")
    return event.tool.name === "end_call" || event.tool.name === "transfer_to_agent";
  return event.type === "over";
}

function send(socket: WebSocket, message: TalkOutput): void {
  socket.send(JSON.stringify(message));
}

/** Sends the last message and ends the talk. */
function close(socket: WebSocket, message: TalkOutput): null {
  send(socket, message);
  socket.close(close_codes.done);
  return null;
}

/** Returns the message; undefined, which no schema accepts, if it is not JSON. */
function parse(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}
