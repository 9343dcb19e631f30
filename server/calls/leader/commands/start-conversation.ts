// Connects an AI agent to a call: this process carries the audio between the two.
import { callName, legName } from "../../state-machine/call.ts";
import { fillAiAgentPlan } from "./fill-ai-agent-plan.ts";
import type { Conversation, Leader, LiveCall } from "../node/leader.ts";

/** Starts the conversation in the background and dispatches its events to the call. */
export function startConversation(leader: Leader, live: LiveCall, legId: number): Conversation {
  const over = new AbortController();
  const keys: string[] = [];
  const conversation: Conversation = {
    press: (digit) => void keys.push(digit),
    end: () => over.abort(),
  };
  const reportEnd = (reason: "failed" | "lost") => {
    if (over.signal.aborted) return;
    leader.dispatch(live, { type: "conversation_ended", reason, at: leader.app.clock.now() });
  };
  converse(leader, live, legId, { over: over.signal, keys, conversation, reportEnd }).catch(
    (err: unknown) => {
      const { account_id, id: call_id } = live.call;
      leader.app.log.warn({ err, account_id, call_id }, "could not connect an AI agent to a call");
      reportEnd("failed");
    },
  );
  return conversation;
}

type Control = {
  readonly over: AbortSignal;
  /** Keys pressed before the agent was connected. */
  readonly keys: readonly string[];
  readonly conversation: Conversation;
  readonly reportEnd: (reason: "failed" | "lost") => void;
};

async function converse(
  leader: Leader,
  live: LiveCall,
  legId: number,
  { over, keys, conversation, reportEnd }: Control,
): Promise<void> {
  const { app, session } = leader;
  const { call } = live;
  const content = call.voice?.content;
  const plan = content?.call_type === "ai_bot" ? content.agent : null;
  const driver = plan && app.aiAgentDrivers[plan.driver];
  if (!driver) throw new Error(`this process has no AI agent driver ${plan?.driver}`);
  const media = await session.openMedia(callName(call), legName(call, { id: legId }));
  // Media that could not be closed ends with its connection.
  const closeMedia = () => void media.close().catch(() => {});
  try {
    if (call.recording_state === "recording" && !over.aborted)
      await session.record(callName(call), callName(call));
  } catch (error) {
    closeMedia();
    throw error;
  }
  if (over.aborted) return closeMedia();
  const agent = driver.open(fillAiAgentPlan(plan, call), media, (event) => {
    const at = app.clock.now();
    if (over.aborted) return;
    if (event.type === "over")
      leader.dispatch(live, { type: "conversation_ended", reason: event.reason, at });
    else leader.dispatch(live, { ...event, at });
  });
  conversation.press = (digit) => agent.digit(digit);
  for (const digit of keys) agent.digit(digit);
  over.addEventListener("abort", () => void agent.close().then(closeMedia), { once: true });
  void media.closed.then(() => reportEnd("lost"));
}
