import { encodeWav } from "../../lib/audio/wav.ts";
import { openSlots } from "../../lib/slots.ts";
import { splitCommand } from "./split-command.ts";
import { SpeechError, type SpeechDriver } from "./driver.ts";
import { runCommand } from "./run-command.ts";
import { checkLanguage } from "./prepare-text.ts";

const at_once_max = 2;
const waiting_max = 100;
const limits = { seconds_max: 30, output_bytes_max: 65_536 };

/**
 * Returns a function that transcribes with a command, which reads a WAV file (8 kHz, mono) on stdin and writes text;
 * `{language}` is replaced. Null without a command.
 */
export function recognizeByCommand(command: string | null): SpeechDriver["recognize"] {
  if (command === null) return null;
  const slots = openSlots(at_once_max, waiting_max);
  return async (samples, language) => {
    checkLanguage(language);
    const argv = splitCommand(command, language);
    const result = await slots.use(() => runCommand(argv, encodeWav(samples), limits));
    if (result.status !== 0)
      throw new SpeechError(
        "failed",
        `${argv[0]} exited with status ${result.status}: ${result.stderr}`,
      );
    return result.output
      .toString("utf8")
      .replaceAll(/[\p{Cc}\s]+/gu, " ")
      .trim();
  };
}
