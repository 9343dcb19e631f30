import { openSlots } from "../../lib/slots.ts";
import { splitCommand } from "./split-command.ts";
import { SpeechError, type SpeechDriver } from "./driver.ts";
import { recognizeByCommand } from "./recognize-by-command.ts";
import { runCommand } from "./run-command.ts";
import { decodeSpeech, speech_bytes_max } from "./decode-speech.ts";
import { prepareText, voicesFor } from "./prepare-text.ts";

export type CommandSpeechOptions = {
  /** Reads text on stdin and writes a WAV file to stdout. Split at spaces and run without a shell. */
  readonly command: string;
  /** Reads a WAV file on stdin and writes text to stdout; null: no speech recognition. */
  readonly recognize_command: string | null;
  readonly seconds_max?: number;
};

export const espeak_command = "espeak-ng --stdin --stdout -v {language}";

const at_once_max = 2;
const waiting_max = 1_000;

/**
 * Opens a driver that synthesizes with the operator's command, two at once. `{language}` is replaced by the
 * language and, when the command fails, by its base language, then by `en`.
 */
export function openCommandSpeech(options: CommandSpeechOptions): SpeechDriver {
  const { command, recognize_command, seconds_max = 60 } = options;
  const limits = { seconds_max, output_bytes_max: speech_bytes_max };
  const slots = openSlots(at_once_max, waiting_max);
  const synthesizeWith = async (text: string, voices: readonly string[]): Promise<Buffer> => {
    let stderr = "";
    for (const voice of voices) {
      const argv = splitCommand(command, voice);
      const result = await runCommand(argv, Buffer.from(text, "utf8"), limits);
      if (result.status === 0 && result.output.length > 0) return result.output;
      stderr = `${argv[0]} exited with status ${result.status}: ${result.stderr}`;
    }
    throw new SpeechError("failed", stderr);
  };
  return {
    voice: command,
    async synthesize(utterance) {
      const text = prepareText(utterance);
      const voices = voicesFor(utterance.language);
      return decodeSpeech(await slots.use(() => synthesizeWith(text, voices)));
    },
    recognize: recognizeByCommand(recognize_command),
  };
}
