// The realtime AI agent: a model behind any server of the OpenAI Realtime protocol, over a WebSocket.
import type { Log } from "../../../lib/log.ts";
import { systemTimers, type Timers } from "../../../lib/timers.ts";
import type { CallMedia } from "../../call-media.ts";
import type { AiAgentDriver, AiAgentEvent, AiAgentPlan, AiAgentSession } from "../driver.ts";
import { openConversation } from "../open-conversation.ts";
import { openResponses } from "./open-responses.ts";
import { openRealtimeSocket, type RealtimeSettings } from "./open-realtime-socket.ts";
import {
  openRealtimeConversation,
  quietSince,
  handleKey,
  handleServerEvent,
} from "./open-realtime-conversation.ts";
import { readServerEvent } from "./read-server-event.ts";

/** Servers end a session after 60 minutes; ending it earlier reports `too_long`. */
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
 * Opens the driver; each conversation has its own connection. A server that is unreachable, rejects the session,
 * stalls or disconnects ends the conversation as `failed`. The reason is logged, without the key and without
 * anything that was said.
 */
export function openRealtimeDriver(options: RealtimeOptions): AiAgentDriver {
  return { open: (plan, media, onEvent) => openSession(options, plan, media, onEvent) };
}

function openSession(
  options: RealtimeOptions,
  plan: AiAgentPlan,
  media: CallMedia,
  onEvent: (event: AiAgentEvent) => void,
): AiAgentSession {
  const { log, timers = systemTimers } = options;
  const timeouts = { ...default_timeouts, ...options.timeouts };
  const conversation = openConversation({
    plan: { ...plan, max_seconds: Math.min(plan.max_seconds, session_seconds_max) },
    media,
    timers,
    onEvent,
    quietSince: () => quietSince(realtime),
    stopped() {
      const count = socket.dropped();
      if (count > 0)
        log.warn({ count }, "dropped caller audio because the realtime server was too slow");
      void socket.close();
    },
  });
  const fail = (reason: string, err?: unknown) => {
    if (conversation.isOver()) return;
    log.warn({ err }, `realtime AI agent failed: ${reason}`);
    conversation.over("failed");
  };
  const socket = openRealtimeSocket(
    { ...options, model: plan.model ?? options.model, handshake_ms: timeouts.ready_ms },
    {
      onMessage(message) {
        const event = readServerEvent(message);
        if (event && !conversation.isOver()) handleServerEvent(realtime, event);
      },
      onLost: (err) => fail("the connection was lost", err),
    },
  );
  const responses = openResponses({
    send: socket.send,
    later: conversation.later,
    stall_ms: timeouts.stall_ms,
    failed: () => fail("no response was received"),
  });
  const realtime = openRealtimeConversation({
    plan,
    media,
    timers,
    conversation,
    socket,
    responses,
    fail,
  });
  conversation.later(timeouts.ready_ms, () => {
    if (realtime.playback === null) fail("the session was not set up in time");
  });
  return {
    digit(digit) {
      if (!conversation.isOver() && /^[0-9*#]$/.test(digit)) handleKey(realtime, digit);
    },
    async close() {
      conversation.stop();
      await socket.close();
    },
  };
}
