import { toWav } from "../../lib/audio/wav.ts";
import { openSlots } from "../../lib/slots.ts";
import { argumentsOf } from "./arguments-of.ts";
import { SpeechError, type SpeechDriver } from "./driver.ts";
import { runCommand } from "./run-command.ts";
import { checkLanguage } from "./spoken-text.ts";

const at_once_max = 2;
const waiting_max = 100;
const limits = { seconds_max: 30, output_bytes_max: 65_536 };

/**
 * Understands speech by a command that takes a WAV file (8 kHz, mono) on stdin and writes what was said;
 * `{language}` in it is replaced. Null: nothing can understand speech.
 */
export function recognizeByCommand(command: string | null): SpeechDriver["recognize"] {
  if (command === null) return null;
  const slots = openSlots(at_once_max, waiting_max);
  return async (samples, language) => {
    checkLanguage(language);
    const argv = argumentsOf(command, language);
    const answer = await slots.use(() => runCommand(argv, toWav(samples), limits));
    if (answer.status !== 0)
      throw new SpeechError(
        "failed",
        `${argv[0]} ended with ${answer.status}: ${answer.complaint}`,
      );
    return answer.output
      .toString("utf8")
      .replaceAll(/[\p{Cc}\s]+/gu, " ")
      .trim();
  };
}
