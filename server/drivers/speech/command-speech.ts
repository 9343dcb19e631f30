import { openSlots } from "../../lib/slots.ts";
import { argumentsOf } from "./arguments-of.ts";
import { SpeechError, type SpeechDriver } from "./driver.ts";
import { recognizeByCommand } from "./recognize-by-command.ts";
import { runCommand } from "./run-command.ts";
import { soundOfSpeech, speech_bytes_max } from "./sound-of-speech.ts";
import { spokenText, voicesFor } from "./spoken-text.ts";

export type CommandSpeechOptions = {
  /** Text on stdin, a WAV file on stdout; its words are cut at spaces, no shell sees them. */
  readonly command: string;
  /** A WAV file on stdin, text on stdout; null: speech is not understood. */
  readonly recognize_command: string | null;
  readonly seconds_max?: number;
};

export const espeak_command = "espeak-ng --stdin --stdout -v {language}";

const at_once_max = 2;
const waiting_max = 1_000;

/**
 * Speaks by a command of the operator's, two at once. `{language}` in it is replaced by the language, then,
 * when the command ends with an error, by its base language, then by `en`.
 */
export function openCommandSpeech(options: CommandSpeechOptions): SpeechDriver {
  const { command, recognize_command, seconds_max = 60 } = options;
  const limits = { seconds_max, output_bytes_max: speech_bytes_max };
  const slots = openSlots(at_once_max, waiting_max);
  const sayIn = async (text: string, voices: readonly string[]): Promise<Buffer> => {
    let complaint = "";
    for (const voice of voices) {
      const argv = argumentsOf(command, voice);
      const answer = await runCommand(argv, Buffer.from(text, "utf8"), limits);
      if (answer.status === 0 && answer.output.length > 0) return answer.output;
      complaint = `${argv[0]} ended with ${answer.status}: ${answer.complaint}`;
    }
    throw new SpeechError("failed", complaint);
  };
  return {
    voice: command,
    async speak(utterance) {
      const text = spokenText(utterance);
      const voices = voicesFor(utterance.language);
      return soundOfSpeech(await slots.use(() => sayIn(text, voices)));
    },
    recognize: recognizeByCommand(recognize_command),
  };
}
