// Makes the content of a campaign's call ready to play, before the call is dialed.
import { prepareSpeech } from "../../audio/prepare-speech.ts";
import type { CallBlocker } from "../../state-machine/events-and-commands.ts";
import { variablesOf } from "../../state-machine/play-to-caller.ts";
import { promptTexts } from "../../state-machine/prompt-texts.ts";
import type { VoiceContent } from "../../state-machine/voice-plan.ts";
import { recordContentFailure } from "../dialer/record-content-failure.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { prepareAiAgent } from "./prepare-ai-agent.ts";

/**
 * Synthesizes the prompts of a campaign's call, or sets up its AI agent, which then waits for the answer.
 * Returns why the call must not be dialed, or null.
 */
export async function prepareContent(leader: Leader, live: LiveCall): Promise<CallBlocker | null> {
  const content = live.call.voice?.content;
  if (!content) return null;
  if (content.call_type === "ai_bot") return prepareAiAgent(leader, live);
  const { account_id } = live.call;
  const variables = variablesOf(live.call);
  const blocker = await preparePrompts(leader, { account_id, content, variables });
  if (blocker === null) leader.gate.succeeded(live.call, "set_up");
  if (blocker === "speech_unavailable")
    await recordContentFailure(leader, live.call, "set_up", "text-to-speech is not available");
  return blocker;
}

/** Synthesizes the prompts of the content. Returns why they cannot be played, or null. */
export async function preparePrompts(
  { app, prepared_texts }: Pick<Leader, "app" | "prepared_texts">,
  {
    account_id,
    content,
    variables,
  }: {
    readonly account_id: number;
    readonly content: VoiceContent;
    readonly variables: Readonly<Record<string, string>>;
  },
): Promise<"speech_unavailable" | "speech_rejected" | null> {
  for (const utterance of promptTexts(content, variables)) {
    const key = JSON.stringify([account_id, utterance]);
    if (prepared_texts.get(key)) continue;
    const speech = await prepareSpeech(app, account_id, utterance);
    if (speech !== "ready") return `speech_${speech}`;
    prepared_texts.set(key, true);
  }
  return null;
}
