// Makes the content of a voice call ready to play, before the call is dialed.
import { wasStorageFull } from "../../../accounts/accounts/storage.ts";
import type { Utterance } from "../../../drivers/speech/driver.ts";
import { isSynthesized } from "../../audio/audio-files.ts";
import { prepareSpeech } from "../../audio/prepare-speech.ts";
import { allBusyTexts } from "../../state-machine/agents-busy.ts";
import type { CallBlocker } from "../../state-machine/call-blocker.ts";
import { variablesOf } from "../../state-machine/play-to-caller.ts";
import { fixedTexts, promptTexts } from "../../state-machine/prompt-texts.ts";
import { recordContentFailure } from "../dialer/record-content-failure.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import type { VoiceContent } from "../../state-machine/voice-plan.ts";
import { prepareAiAgent } from "./prepare-ai-agent.ts";

const unavailable = "text-to-speech is not available";
const full = "the account's storage is full";
/** How much of a rejected text the reason of a pause shows. */
const shown_characters = 60;

/**
 * Synthesizes the prompts of a voice call and the message for callers without an agent, and sets up its AI
 * agent, which then waits for the answer. Returns why the call must not be dialed, or null.
 */
export async function prepareContent(leader: Leader, live: LiveCall): Promise<CallBlocker | null> {
  const content = live.call.voice?.content;
  if (!content) return null;
  const { account_id } = live.call;
  const failure =
    (await prepareFixedTexts(leader, account_id, content)) ?? (await findFullStorage(leader, live));
  const blocker = failure === null ? await prepareOwnTexts(leader, live) : "speech_unavailable";
  if (blocker === "speech_unavailable")
    await recordContentFailure(leader, live.call, "set_up", failure ?? unavailable);
  if (blocker !== null) return blocker;
  if (content.call_type === "ai_bot") return prepareAiAgent(leader, live);
  leader.gate.succeeded(live.call, "set_up");
  return null;
}

/**
 * Synthesizes the texts that are the same for every recipient. Returns why one cannot be played, or null: a rejected
 * one stops the campaign instead of failing each recipient.
 */
async function prepareFixedTexts(
  leader: Leader,
  account_id: number,
  content: VoiceContent,
): Promise<string | null> {
  for (const utterance of fixedTexts(content)) {
    const blocker = await prepareTexts(leader, account_id, [utterance]);
    if (blocker === "speech_rejected")
      return `text-to-speech rejects ${JSON.stringify(utterance.text.slice(0, shown_characters))}`;
    if (blocker !== null) return unavailable;
  }
  return null;
}

/**
 * Returns that the storage is full if a text that depends on the recipient is not stored: these texts are as many as
 * the recipients. Else null.
 */
async function findFullStorage(leader: Leader, { call }: LiveCall): Promise<string | null> {
  const { app, prepared_texts } = leader;
  const { account_id, voice } = call;
  const texts = promptTexts(voice!.content, variablesOf(call));
  const missing = texts.filter((text) => !prepared_texts.has(keyOf(account_id, text)));
  if (missing.length === 0) return null;
  if (!(await wasStorageFull(app.db.pool, leader.full_storages, account_id))) return null;
  for (const text of missing) if (!(await isSynthesized(app, account_id, text))) return full;
  return null;
}

/** Synthesizes the texts that depend on the recipient, then the message for callers without an agent. */
async function prepareOwnTexts(leader: Leader, live: LiveCall): Promise<CallBlocker | null> {
  const { account_id, voice } = live.call;
  const texts = promptTexts(voice!.content, variablesOf(live.call));
  return (await prepareTexts(leader, account_id, texts)) ?? prepareBusyTexts(leader, live);
}

/** Synthesizes the texts. Returns why one cannot be played, or null. */
export async function prepareTexts(
  { app, prepared_texts }: Pick<Leader, "app" | "prepared_texts">,
  account_id: number,
  texts: readonly Utterance[],
): Promise<"speech_unavailable" | "speech_rejected" | null> {
  for (const { text, language } of texts) {
    const key = keyOf(account_id, { text, language });
    if (prepared_texts.get(key)) continue;
    const speech = await prepareSpeech(app, account_id, { text, language });
    if (speech !== "ready") return `speech_${speech}`;
    prepared_texts.set(key, true);
  }
  return null;
}

/** Synthesizes the built-in message; one in a language that this text-to-speech lacks does not stop the campaign. */
async function prepareBusyTexts(
  leader: Leader,
  { call }: LiveCall,
): Promise<"speech_unavailable" | null> {
  const { account_id, settings, voice } = call;
  for (const { say, language } of allBusyTexts(voice!.content, settings.busy_audio !== null)) {
    const text = { text: say, language };
    const blocker = await prepareTexts(leader, account_id, [text]);
    if (blocker === "speech_unavailable") return blocker;
    if (blocker === null) continue;
    leader.app.log.warn(
      { account_id },
      `could not synthesize the message of busy agents: ${language}`,
    );
    leader.prepared_texts.set(keyOf(account_id, text), true);
  }
  return null;
}

function keyOf(account_id: number, utterance: Utterance): string {
  return JSON.stringify([account_id, utterance]);
}
