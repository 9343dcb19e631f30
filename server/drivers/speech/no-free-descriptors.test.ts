import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const script = `
import { openSync } from "node:fs";
import { openCommandSpeech } from "${import.meta.resolve("./command-speech.ts")}";
import { openPackagedSpeech } from "${import.meta.resolve("./packaged-speech.ts")}";
const drivers = [
  openCommandSpeech({ command: "true", recognize_command: null }),
  openPackagedSpeech({ recognize_command: null }),
];
try {
  for (;;) openSync("/dev/null");
} catch {}
const errors = [];
for (const driver of drivers) {
  const utterance = { text: "Hello.", language: "en" };
  errors.push(await driver.synthesize(utterance).catch(({ name, message }) => name + ": " + message));
}
// One more iteration of the event loop: an unhandled "error" event would have ended the process.
setImmediate(() => console.log(JSON.stringify(errors)));
`;

test("without free file descriptors, speech fails and the process continues", () => {
  const node = [process.execPath, "--input-type=module-typescript", "-e", script];
  const limited = ["-c", 'ulimit -n 256; exec "$@"', "sh", ...node];
  const output = execFileSync("sh", limited, { encoding: "utf8" });
  assert.deepEqual(JSON.parse(output), [
    "SpeechError: true could not be run",
    "SpeechError: the packaged synthesizer could not be run",
  ]);
});
