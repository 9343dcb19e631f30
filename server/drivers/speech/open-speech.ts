import { spawnSync } from "node:child_process";
import { espeak_command, openCommandSpeech } from "./command-speech.ts";
import type { SpeechDriver } from "./driver.ts";
import { openPackagedSpeech } from "./packaged-speech.ts";
import { tracedCall } from "../../lib/tracing/traced-request.ts";

/** Opens the speech driver: the operator's command, else espeak-ng on the PATH, else npm's `espeak-ng`. */
export function openSpeech(config: {
  readonly speech_command: string | null;
  readonly speech_recognize_command: string | null;
}): SpeechDriver {
  const recognize_command = config.speech_recognize_command;
  const command = config.speech_command ?? (hasEspeak() ? espeak_command : null);
  const driver =
    command === null
      ? openPackagedSpeech({ recognize_command })
      : openCommandSpeech({ command, recognize_command });
  return {
    ...driver,
    synthesize: (utterance) =>
      tracedCall("synthesize speech", {}, () => driver.synthesize(utterance)),
  };
}

function hasEspeak(): boolean {
  return spawnSync("espeak-ng", ["--version"], { stdio: "ignore" }).status === 0;
}
