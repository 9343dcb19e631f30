// Connects an AI agent to a call: this process carries the audio between the two.
import { setTimeout as delay } from "node:timers/promises";
import type { AiAgentEvent } from "../../../drivers/ai-agent/driver.ts";
import { VoiceError } from "../../../drivers/voice/driver.ts";
import { callName, legName } from "../../state-machine/call.ts";
import { recordLateOptOut } from "../events/record-late-opt-out.ts";
import { takeAiAgent } from "./prepare-ai-agent.ts";
import { recordCall } from "./record-call.ts";
import type { Conversation, Leader, LiveCall } from "../node/leader.ts";

/** How much later than the media the end of the caller's leg may be reported. */
const hang_up_ms = 500;

/** How soon a failed request to record is repeated. */
const record_again_ms = 1_000;

/** Starts the conversation in the background and dispatches its events to the call. */
export function startConversation(leader: Leader, live: LiveCall, legId: number): Conversation {
  const over = new AbortController();
  const keys: string[] = [];
  const conversation: Conversation = {
    press: (digit) => void keys.push(digit),
    end: () => over.abort(),
  };
  const reportEnd = async (reason: "failed" | "lost") => {
    // Perhaps the caller has hung up, which is reported in a moment.
    await delay(hang_up_ms, null, { ref: false });
    if (over.signal.aborted) return;
    leader.dispatch(live, { type: "conversation_ended", reason, at: leader.app.clock.now() });
  };
  converse(leader, live, legId, { over: over.signal, keys, conversation, reportEnd }).catch(
    (err: unknown) => {
      const { account_id, id: call_id } = live.call;
      leader.app.log.warn({ err, account_id, call_id }, "could not connect an AI agent to a call");
      void reportEnd("failed");
    },
  );
  return conversation;
}

type Control = {
  readonly over: AbortSignal;
  /** Keys pressed before the agent was connected. */
  readonly keys: readonly string[];
  readonly conversation: Conversation;
  readonly reportEnd: (reason: "failed" | "lost") => Promise<void>;
};

async function converse(
  leader: Leader,
  live: LiveCall,
  legId: number,
  { over, keys, conversation, reportEnd }: Control,
): Promise<void> {
  const { app, session } = leader;
  const prepared = takeAiAgent(leader, live);
  const leg = legName(live.call, { id: legId });
  const media = await session.openMedia(callName(live.call), leg).catch(async (error: unknown) => {
    await prepared.close();
    throw error;
  });
  void recordIfWanted(leader, live, over);
  // Media that could not be closed ends with its connection.
  const closeMedia = () => void media.close().catch(() => {});
  if (over.aborted) {
    closeMedia();
    return prepared.close();
  }
  let isHungUp = false;
  const agent = prepared.start(media, (event) => {
    const at = app.clock.now();
    if (isOptOut(event) && (isHungUp || !over.aborted)) return optOut(leader, live);
    if (over.aborted) return;
    if (event.type === "audible") leader.gate.succeeded(live.call, "answered");
    if (event.type === "over")
      leader.dispatch(live, { type: "conversation_ended", reason: event.reason, at });
    else leader.dispatch(live, { ...event, at });
  });
  leader.lastWords.add(agent.ended);
  conversation.press = (digit) => agent.digit(digit);
  for (const digit of keys) agent.digit(digit);
  const close = () => {
    // After a hangup the AI agent ends by itself, once it has understood the caller's last words.
    if (!isHungUp) void agent.close().then(closeMedia);
  };
  over.addEventListener("abort", close, { once: true });
  void media.closed.then(() => {
    isHungUp = true;
    return reportEnd("lost");
  });
}

function isOptOut(event: AiAgentEvent): boolean {
  return event.type === "tool" && event.tool.name === "opt_out";
}

/** Records an opt-out, also one that is understood or can be stored only after the call has ended. */
function optOut(leader: Leader, live: LiveCall): void {
  const { app } = leader;
  leader.dispatch(live, { type: "tool", tool: { name: "opt_out" }, at: app.clock.now() });
  leader.lastWords.add(recordIfLate(leader, live, live.pending));
}

async function recordIfLate(leader: Leader, live: LiveCall, handled: Promise<void>): Promise<void> {
  await handled;
  if (!live.call.opted_out) await recordLateOptOut(leader, live.call, null);
}

/**
 * Records the conversation if the account wants that. A failed request is repeated in the background, so that neither
 * the AI agent nor the call's events wait for it. Never throws.
 */
async function recordIfWanted(leader: Leader, live: LiveCall, over: AbortSignal): Promise<void> {
  const { account_id, id: call_id } = live.call;
  while (!over.aborted && live.call.recording_state === "recording") {
    try {
      return await recordCall(leader, live);
    } catch (err) {
      leader.app.log.warn({ err, account_id, call_id }, "could not record an AI agent's call");
      if (err instanceof VoiceError && err.failure === "refused") return;
      await delay(record_again_ms, null, { signal: over, ref: false }).catch(() => {});
    }
  }
}
