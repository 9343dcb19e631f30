import { SpeechError, type SpeechDriver } from "../../server/drivers/speech/driver.ts";
import { tone } from "./tones.ts";

/** Duration of each character. */
const character_ms = 40;

export type ScriptedSpeech = SpeechDriver & {
  /** The next transcriptions, in this order; "" when there are no more. */
  scriptTranscript(...texts: string[]): void;
  /** The audio to be transcribed. */
  recognizedAudio(): readonly Buffer[];
  /** Makes every later request fail, or succeed again. */
  setBroken(isBroken: boolean): void;
};

/** A speech driver that synthesizes a tone and transcribes by script. */
export function openScriptedSpeech(): ScriptedSpeech {
  const texts: string[] = [];
  const recognized: Buffer[] = [];
  let isBroken = false;
  const check = () => {
    if (isBroken) throw new SpeechError("failed", "the synthesizer is broken");
  };
  return {
    voice: "scripted",
    async synthesize({ text }) {
      check();
      return tone(text.length * character_ms);
    },
    async recognize(samples) {
      recognized.push(samples);
      check();
      return texts.shift() ?? "";
    },
    scriptTranscript: (...more) => void texts.push(...more),
    recognizedAudio: () => recognized,
    setBroken: (now) => void (isBroken = now),
  };
}
