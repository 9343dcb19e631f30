// Sets up the AI agent of a call before the call is dialed, and keeps it set up while the phone rings.
import { textsOf, type PreparedConversation } from "../../../drivers/ai-agent/driver.ts";
import type { Utterance } from "../../../drivers/speech/driver.ts";
import { synthesizerOf } from "../../audio/audio-files.ts";
import { isRejected } from "../../audio/prepare-speech.ts";
import { callName } from "../../state-machine/call.ts";
import { recordContentFailure } from "../dialer/record-content-failure.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { callbackTerms } from "../../state-machine/callback-terms.ts";
import { fillAiAgentPlan } from "../../state-machine/fill-ai-agent-plan.ts";
import { variablesOf } from "../../state-machine/play-to-caller.ts";

/** How often an AI agent that is lost while the phone rings is set up. */
const set_ups_max = 3;

/**
 * Sets up the call's AI agent. Returns why the call must not be dialed, or null. A text with the recipient's variables
 * that cannot be synthesized fails this recipient; any other failure stops the campaign.
 */
export async function prepareAiAgent(
  leader: Leader,
  live: LiveCall,
  set_ups = 1,
): Promise<"ai_agent_unavailable" | "speech_rejected" | null> {
  const { app, gate } = leader;
  // The call may have ended while its texts were synthesized: nothing would close its AI agent.
  if (!isCurrent(leader, live)) return null;
  const prepared = openAiAgent(leader, live);
  const failure =
    typeof prepared === "string" ? { reason: prepared, text: null } : await prepared.ready();
  // A call that ended in the meantime has closed its AI agent.
  if (!isCurrent(leader, live)) return null;
  const { account_id, id: call_id } = live.call;
  if (failure === null) {
    gate.succeeded(live.call, "set_up");
    watch(leader, live, set_ups).catch((err: unknown) =>
      app.log.warn({ err, account_id, call_id }, "could not set up the AI agent of a call again"),
    );
    return null;
  }
  const { reason, text } = failure;
  app.log.warn({ account_id, call_id }, `the AI agent of a call could not be set up: ${reason}`);
  closePrepared(live);
  if (text !== null && isOwnText(live.call, text) && (await isRejected(app, account_id, text)))
    return "speech_rejected";
  await recordContentFailure(leader, live.call, "set_up", `AI agent: ${reason}`);
  return "ai_agent_unavailable";
}

/** Returns the AI agent that waits for the call's answer; sets one up if there is none. */
export function takeAiAgent(leader: Leader, live: LiveCall): PreparedConversation {
  const prepared = openAiAgent(leader, live);
  if (typeof prepared === "string") throw new Error(prepared);
  live.prepared = null;
  return prepared;
}

/** Closes an AI agent that was set up and not started. */
export function closePrepared(live: LiveCall): void {
  void live.prepared?.close();
  live.prepared = null;
}

function openAiAgent({ app }: Leader, live: LiveCall): PreparedConversation | string {
  const { call } = live;
  const content = call.voice?.content;
  const plan = content?.call_type === "ai_bot" ? content.agent : null;
  const driver = plan && app.aiAgentDrivers[plan.driver];
  if (!driver) return `this process has no AI agent driver ${plan?.driver}`;
  live.prepared ??= driver.prepare(
    fillAiAgentPlan(plan, variablesOf(call)),
    callbackTerms(app.clock, call),
    synthesizerOf(app, call.account_id),
  );
  return live.prepared;
}

/** Reports whether a text of the AI agent contains variables of the recipient. */
function isOwnText({ voice }: LiveCall["call"], { text }: Utterance): boolean {
  const content = voice!.content;
  if (content.call_type !== "ai_bot") return false;
  return textsOf(fillAiAgentPlan(content.agent, {})).every((fixed) => fixed.text !== text);
}

/** Sets up an AI agent again that is lost before the answer; ends the call if that fails. */
async function watch(leader: Leader, live: LiveCall, set_ups: number): Promise<void> {
  const { prepared } = live;
  await prepared?.lost;
  if (!isCurrent(leader, live) || live.prepared !== prepared) return;
  live.prepared = null;
  const isSetUp =
    set_ups < set_ups_max && (await prepareAiAgent(leader, live, set_ups + 1)) === null;
  if (!isSetUp)
    leader.dispatch(live, {
      type: "conversation_ended",
      reason: "lost",
      at: leader.app.clock.now(),
    });
}

function isCurrent({ calls }: Leader, live: LiveCall): boolean {
  return calls.get(callName(live.call)) === live;
}
