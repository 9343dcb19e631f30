import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { speechDriverContract } from "../../../test/support/speech-driver-contract.ts";
import { shareOfTone } from "../../../test/support/share-of-tone.ts";
import { espeak_command, openCommandSpeech } from "./command-speech.ts";
import { SpeechError } from "./driver.ts";

const speech_command = `${process.execPath} ${fileURLToPath(new URL("../../../test/support/speech-command.ts", import.meta.url))}`;
const open = (command: string, seconds_max?: number) =>
  openCommandSpeech({
    command,
    recognize_command: null,
    ...(seconds_max !== undefined && { seconds_max }),
  });
const failed = (reason: RegExp) => (error: unknown) =>
  error instanceof SpeechError && error.failure === "failed" && reason.test(error.message);

speechDriverContract("a command", () => {
  const driver = open(`${speech_command} beeps {language}`);
  return {
    driver,
    synthesizeAndDie: () => driver.synthesize({ text: "Now die.", language: "en" }),
  };
});

// Runs where espeak-ng is installed; the packaged synthesizer is the same program.
if (spawnSync("espeak-ng", ["--version"]).status === 0)
  speechDriverContract("espeak-ng", () => ({
    driver: open(espeak_command),
    synthesizeAndDie: null,
  }));

test("uses the voice of the language, else of its base language, else English", async () => {
  const driver = open(`${speech_command} beeps {language}`);
  for (const [language, hz] of [
    ["en", 500],
    ["hi", 800],
    ["hi-IN", 800],
    ["HI-Deva-IN", 800],
    ["zz-ZZ", 500],
  ] as const) {
    const samples = await driver.synthesize({ text: "Good morning.", language });
    assert.ok(shareOfTone(samples, hz, 8_000) > 0.95, language);
  }
});

test("reports why a command failed: it cannot run, exits with an error, hangs, or writes too much or no audio", async () => {
  const utterance = { text: "Hello.", language: "en" };
  for (const [driver, reason] of [
    [open("/nowhere/synthesizer {language}"), /could not be run/],
    [open(`${speech_command} beeps zz`), /unknown language zz/],
    [open(`${speech_command} nothing`), /must be a WAV file/],
    [open(`${speech_command} babbles`), /wrote too much output/],
    [open(`${speech_command} hangs`, 1), /took longer than 1 s/],
  ] as const)
    await assert.rejects(driver.synthesize(utterance), failed(reason));
});

test("recognizes speech with the configured command, and not without one", async () => {
  const recognizing = openCommandSpeech({
    command: speech_command,
    recognize_command: `${speech_command} recognizes {language}`,
  });
  const samples = Buffer.alloc(16_000);
  assert.equal(await recognizing.recognize!(samples, "hi-IN"), "8000 Hz, 1000 ms of hi-IN");
  await assert.rejects(
    recognizing.recognize!(samples, "--help"),
    (error) => error instanceof SpeechError,
  );
  const broken = openCommandSpeech({
    command: speech_command,
    recognize_command: `${speech_command} beeps zz`,
  });
  await assert.rejects(broken.recognize!(samples, "en"), failed(/unknown language zz/));
  assert.equal(open(speech_command).recognize, null);
});
