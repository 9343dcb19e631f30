// An agent that is a model at some server of the OpenAI Realtime protocol, over a WebSocket.
import type { Log } from "../../../lib/log.ts";
import { systemTimers, type Timers } from "../../../lib/timers.ts";
import type { CallMedia } from "../../call-media.ts";
import type { AgentDriver, AgentEvent, AgentPlan, AgentSession } from "../driver.ts";
import { openConversation } from "../open-conversation.ts";
import { openAnswers } from "./open-answers.ts";
import { openRealtimeSocket, type RealtimeSettings } from "./open-realtime-socket.ts";
import { openTalk, quietSince, takeKey, takeServerEvent } from "./open-talk.ts";
import { readServerEvent } from "./read-server-event.ts";

/** Servers end a session after 60 minutes: we do so first, and call it by its name. */
const session_seconds_max = 3_570;

export type RealtimeTimeouts = {
  /** From the call's beginning until the session is set up; 15 s unless given. */
  readonly ready_ms: number;
  /** Of an answer that is under way, between two signs of life; 20 s unless given. */
  readonly stall_ms: number;
};

const usual_timeouts: RealtimeTimeouts = { ready_ms: 15_000, stall_ms: 20_000 };

export type RealtimeOptions = RealtimeSettings & {
  readonly log: Log;
  readonly timeouts?: Partial<RealtimeTimeouts>;
  readonly timers?: Timers;
};

/**
 * Opens the driver; each conversation has a connection of its own. A server that is not there, says no, falls
 * silent when it should answer, or goes away ends the conversation as `failed`. The log is told why, without
 * the key and without anything that was said.
 */
export function openRealtimeAgent(options: RealtimeOptions): AgentDriver {
  return { open: (plan, media, hear) => openSession(options, plan, media, hear) };
}

function openSession(
  options: RealtimeOptions,
  plan: AgentPlan,
  media: CallMedia,
  hear: (event: AgentEvent) => void,
): AgentSession {
  const { log, timers = systemTimers } = options;
  const timeouts = { ...usual_timeouts, ...options.timeouts };
  const conversation = openConversation({
    plan: { ...plan, max_seconds: Math.min(plan.max_seconds, session_seconds_max) },
    media,
    timers,
    hear,
    quietSince: () => quietSince(talk),
    stopped() {
      const count = socket.dropped();
      if (count > 0) log.warn({ count }, "a realtime server was too slow to hear all of a caller");
      void socket.close();
    },
  });
  const fail = (what: string, err?: unknown) => {
    if (conversation.isOver()) return;
    log.warn({ err }, `a realtime agent failed: ${what}`);
    conversation.over("failed");
  };
  const socket = openRealtimeSocket(
    { ...options, model: plan.model ?? options.model, handshake_ms: timeouts.ready_ms },
    {
      heard(message) {
        const event = readServerEvent(message);
        if (event && !conversation.isOver()) takeServerEvent(talk, event);
      },
      lost: (err) => fail("the connection", err),
    },
  );
  const answers = openAnswers({
    send: socket.send,
    later: conversation.later,
    stall_ms: timeouts.stall_ms,
    failed: () => fail("no answer came"),
  });
  const talk = openTalk({ plan, media, timers, conversation, socket, answers, fail });
  conversation.later(timeouts.ready_ms, () => {
    if (talk.playback === null) fail("the session was not set up in time");
  });
  return {
    digit(digit) {
      if (!conversation.isOver() && /^[0-9*#]$/.test(digit)) takeKey(talk, digit);
    },
    async close() {
      conversation.stop();
      await socket.close();
    },
  };
}
