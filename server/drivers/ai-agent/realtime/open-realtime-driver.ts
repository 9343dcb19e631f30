// The realtime AI agent: a model behind any server of the OpenAI Realtime protocol, over a WebSocket.
import type { Log } from "../../../lib/log.ts";
import { systemTimers, type Timers } from "../../../lib/timers.ts";
import { tracedCall } from "../../../lib/tracing/traced-request.ts";
import type { CallMedia } from "../../call-media.ts";
import type {
  AiAgentDriver,
  AiAgentEvent,
  AiAgentPlan,
  AiAgentSession,
  CallbackTerms,
  PreparedConversation,
} from "../driver.ts";
import { openConversation } from "../open-conversation.ts";
import { checkModel } from "./check-model.ts";
import { openResponses } from "./open-responses.ts";
import type { RealtimeSettings } from "./open-realtime-socket.ts";
import { openRealtimeSession, type RealtimeSession } from "./open-realtime-session.ts";
import {
  beginConversation,
  greetingDue,
  openRealtimeConversation,
  quietSince,
  handleHangUp,
  handleKey,
  handleUtterance,
  handleServerEvent,
} from "./open-realtime-conversation.ts";

/** Servers end a session 60 minutes after it was opened; ending it earlier reports `too_long`. */
const session_seconds_max = 3_570;

export type RealtimeTimeouts = {
  /** The time to set up a session; 15 s by default. */
  readonly ready_ms: number;
  /** The longest pause between events of a response in progress; 20 s by default. */
  readonly stall_ms: number;
};

const default_timeouts: RealtimeTimeouts = { ready_ms: 15_000, stall_ms: 20_000 };

export type RealtimeOptions = RealtimeSettings & {
  readonly log: Log;
  readonly timeouts?: Partial<RealtimeTimeouts>;
  readonly timers?: Timers;
};

/**
 * Opens the driver; each conversation has its own connection, opened when it is prepared. A server that is
 * unreachable, rejects the session, stalls or disconnects ends the conversation as `failed`. The reason is
 * logged, without the key and without anything that was said.
 */
export function openRealtimeDriver(options: RealtimeOptions): AiAgentDriver {
  return {
    prepare: (plan, callbacks) => prepare(options, plan, callbacks),
    checkModel: (plan) => checkModel(options, plan),
  };
}

function prepare(
  options: RealtimeOptions,
  plan: AiAgentPlan,
  callbacks: CallbackTerms,
): PreparedConversation {
  const { log, timers = systemTimers } = options;
  const { ready_ms } = { ...default_timeouts, ...options.timeouts };
  const settings = { ...options, model: plan.model ?? options.model };
  const opened_ms = timers.now();
  const session = openRealtimeSession({ settings, plan, callbacks, ready_ms, timers, log });
  const described = {
    "server.address": new URL(settings.url).hostname,
    "gen_ai.request.model": settings.model,
  };
  return {
    ready: () =>
      tracedCall("set up AI agent", described, async (span) => {
        const reason = await session.ready;
        if (reason === null) return null;
        span?.fail("not_set_up");
        return { reason, text: null };
      }),
    lost: session.lost,
    start: (media, onEvent) =>
      converse({ options, plan, callbacks, session, opened_ms }, media, onEvent),
    close: () => session.close(),
  };
}

type ConversationParts = {
  readonly options: RealtimeOptions;
  readonly plan: AiAgentPlan;
  readonly callbacks: CallbackTerms;
  readonly session: RealtimeSession;
  /** When the session was opened, by the clock of `options.timers`. */
  readonly opened_ms: number;
};

function converse(
  { options, plan, callbacks, session, opened_ms }: ConversationParts,
  media: CallMedia,
  onEvent: (event: AiAgentEvent) => void,
): AiAgentSession {
  const { log, timers = systemTimers } = options;
  const { stall_ms } = { ...default_timeouts, ...options.timeouts };
  const { socket } = session;
  const session_seconds_left = session_seconds_max - (timers.now() - opened_ms) / 1_000;
  const conversation = openConversation({
    plan: { ...plan, max_seconds: Math.min(plan.max_seconds, session_seconds_left) },
    media,
    timers,
    onEvent,
    quietSince: () => quietSince(realtime),
    hungUp: () => handleHangUp(realtime),
    stopped() {
      const count = socket.dropped();
      if (count > 0)
        log.warn({ count }, "dropped caller audio because the realtime server was too slow");
      void session.close();
    },
  });
  const fail = (reason: string, err?: unknown) => {
    if (conversation.isOver()) return;
    log.warn({ err }, `realtime AI agent failed: ${reason}`);
    conversation.over("failed");
  };
  const responses = openResponses({
    send: socket.send,
    later: conversation.later,
    stall_ms,
    repeatInstructions: () => greetingDue(realtime),
    failed: () => fail("no response was received"),
  });
  const realtime = openRealtimeConversation({
    plan,
    callbacks,
    media,
    timers,
    conversation,
    socket,
    responses,
    fail,
  });
  session.follow({
    begin: (formats) => beginConversation(realtime, formats),
    handle(event) {
      if (!conversation.isOver()) handleServerEvent(realtime, event);
    },
    fail,
  });
  return {
    digit(digit) {
      if (!conversation.isOver() && /^[0-9*#]$/.test(digit)) handleKey(realtime, digit);
    },
    utterance(text) {
      if (!conversation.isOver() && text.trim() !== "") handleUtterance(realtime, text.trim());
    },
    ended: conversation.ended,
    async close() {
      conversation.stop();
      await session.close();
    },
  };
}
