// An AI agent on a call: its sound and the call's, joined in this process for as long as both last.
import { callName, legName } from "../state-machine/call.ts";
import { fillAgentPlan } from "./fill-agent-plan.ts";
import type { Conversation, Leader, LiveCall } from "./leader.ts";

/** Begins in the background; what becomes of it is told to the call. */
export function startConversation(leader: Leader, live: LiveCall, legId: number): Conversation {
  const over = new AbortController();
  const keys: string[] = [];
  const conversation: Conversation = {
    press: (digit) => void keys.push(digit),
    end: () => over.abort(),
  };
  const tellOver = (reason: "failed" | "lost") => {
    if (over.signal.aborted) return;
    leader.dispatch(live, { type: "conversation_ended", reason, at: leader.app.clock.now() });
  };
  converse(leader, live, legId, { over: over.signal, keys, conversation, tellOver }).catch(
    (err: unknown) => {
      const { account_id, id: call_id } = live.call;
      leader.app.log.warn({ err, account_id, call_id }, "an AI agent could not be put on a call");
      tellOver("failed");
    },
  );
  return conversation;
}

type Course = {
  readonly over: AbortSignal;
  /** Pressed before the agent was there. */
  readonly keys: readonly string[];
  readonly conversation: Conversation;
  readonly tellOver: (reason: "failed" | "lost") => void;
};

async function converse(
  leader: Leader,
  live: LiveCall,
  legId: number,
  { over, keys, conversation, tellOver }: Course,
): Promise<void> {
  const { app, session } = leader;
  const { call } = live;
  const content = call.voice?.content;
  const plan = content?.call_type === "ai_bot" ? content.agent : null;
  const driver = plan && app.agentDrivers[plan.driver];
  if (!driver) throw new Error(`this process has no agents of the kind ${plan?.driver}`);
  const media = await session.openMedia(callName(call), legName(call, { id: legId }));
  // What could not be closed ends with its connection.
  const closeMedia = () => void media.close().catch(() => {});
  try {
    if (call.recording_state === "recording" && !over.aborted)
      await session.record(callName(call), callName(call));
  } catch (error) {
    closeMedia();
    throw error;
  }
  if (over.aborted) return closeMedia();
  const agent = driver.open(fillAgentPlan(plan, call), media, (event) => {
    const at = app.clock.now();
    if (over.aborted) return;
    if (event.type === "over")
      leader.dispatch(live, { type: "conversation_ended", reason: event.reason, at });
    else leader.dispatch(live, { ...event, at });
  });
  conversation.press = (digit) => agent.digit(digit);
  for (const digit of keys) agent.digit(digit);
  over.addEventListener("abort", () => void agent.close().then(closeMedia), { once: true });
  void media.closed.then(() => tellOver("lost"));
}
