// Synthesizes a text before the call that plays it.
import { SpeechError, type SpeechDriver, type Utterance } from "../../drivers/speech/driver.ts";
import type { App } from "../../engine/app.ts";
import { Refusal } from "../../lib/errors.ts";
import { synthesizeAudio, synthesizerOf } from "./audio-files.ts";

/** `rejected`: this text cannot be synthesized, others can; `unavailable`: TTS does not work now. */
export type PreparedSpeech = "ready" | "rejected" | "unavailable";

/** Makes the audio of a text exist. */
export async function prepareSpeech(
  app: Pick<App, "db" | "clock" | "speech">,
  account_id: number,
  utterance: Utterance,
): Promise<PreparedSpeech> {
  const first = await trySpeech(app, account_id, utterance);
  if (first !== "failed") return first;
  if (!(await canSynthesize(app.speech))) return "unavailable";
  // It may have failed only while TTS restarted.
  const second = await trySpeech(app, account_id, utterance);
  return second === "failed" ? "rejected" : second;
}

async function trySpeech(
  app: Pick<App, "db" | "clock" | "speech">,
  account_id: number,
  utterance: Utterance,
): Promise<PreparedSpeech | "failed"> {
  try {
    await synthesizeAudio(app, account_id, utterance);
    return "ready";
  } catch (err) {
    // The TTS queue is full.
    if (err instanceof Refusal) return "unavailable";
    if (err instanceof SpeechError) return err.failure;
    throw err;
  }
}

/** Reports whether a text that could not be synthesized cannot be while others can. */
export async function isRejected(
  app: Pick<App, "speech">,
  account_id: number,
  utterance: Utterance,
): Promise<boolean> {
  if (!(await canSynthesize(app.speech))) return false;
  try {
    // It may have failed only while TTS restarted.
    await synthesizerOf(app, account_id).synthesize(utterance);
    return false;
  } catch (err) {
    return err instanceof SpeechError;
  }
}

/** Reports whether the driver synthesizes a simple text. */
async function canSynthesize(speech: SpeechDriver): Promise<boolean> {
  try {
    await speech.synthesize({ text: "one", language: "en" });
    return true;
  } catch {
    return false;
  }
}
