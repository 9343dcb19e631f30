import { SpeechError, type SpeechDriver } from "../../server/drivers/speech/driver.ts";
import { tone } from "./tones.ts";

/** What each character lasts. */
const character_ms = 40;

export type ScriptedSpeech = SpeechDriver & {
  /** How the next sounds are understood, in this order; "" when there is no more. */
  understand(...texts: string[]): void;
  /** What was to be understood. */
  understood(): readonly Buffer[];
  /** From now on, whatever is asked fails, or works again. */
  breakDown(isBroken: boolean): void;
};

/** A speaker that hums each text, and understands what it is told. */
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
