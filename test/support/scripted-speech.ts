import { SpeechError, type SpeechDriver } from "../../server/drivers/speech/driver.ts";
import { tone } from "./tones.ts";

/** Duration of each character. */
const character_ms = 40;

export type ScriptedSpeech = SpeechDriver & {
  /** The next transcriptions, in this order; "" when there are no more. */
  understand(...texts: string[]): void;
  /** The audio to be transcribed. */
  understood(): readonly Buffer[];
  /** Makes every later request fail, or succeed again. */
  breakDown(isBroken: boolean): void;
};

/** A speech driver that synthesizes a tone and transcribes by script. */
export function openScriptedSpeech(): ScriptedSpeech {
  const texts: string[] = [];
  const heard: Buffer[] = [];
  let isBroken = false;
  const check = () => {
    if (isBroken) throw new SpeechError("failed", "the speaker is broken");
  };
  return {
    voice: "told",
    async speak({ text }) {
      check();
      return tone(text.length * character_ms);
    },
    async recognize(samples) {
      heard.push(samples);
      check();
      return texts.shift() ?? "";
    },
    understand: (...more) => void texts.push(...more),
    understood: () => heard,
    breakDown: (now) => void (isBroken = now),
  };
}
