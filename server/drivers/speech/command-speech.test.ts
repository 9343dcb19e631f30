import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { speechDriverContract } from "../../../test/support/speech-driver-contract.ts";
import { shareOfTone } from "../../../test/support/share-of-tone.ts";
import { espeak_command, openCommandSpeech } from "./command-speech.ts";
import { SpeechError } from "./driver.ts";

const beeper = `${process.execPath} ${fileURLToPath(new URL("../../../test/support/speech-beeper.ts", import.meta.url))}`;
const open = (command: string, seconds_max?: number) =>
  openCommandSpeech({
    command,
    recognize_command: null,
    ...(seconds_max !== undefined && { seconds_max }),
  });
const failed = (reason: RegExp) => (error: unknown) =>
  error instanceof SpeechError && error.failure === "failed" && reason.test(error.message);

speechDriverContract("a command", () => {
  const driver = open(`${beeper} beeps {language}`);
  return { driver, speakAndDie: () => driver.speak({ text: "Now die.", language: "en" }) };
});

// A suite more where it is installed; the packaged speaker is the same program.
if (spawnSync("espeak-ng", ["--version"]).status === 0)
  speechDriverContract("espeak-ng", () => ({ driver: open(espeak_command), speakAndDie: null }));

test("a language speaks with its own voice, else with its base language's, else in English", async () => {
  const driver = open(`${beeper} beeps {language}`);
  for (const [language, hz] of [
    ["en", 500],
    ["hi", 800],
    ["hi-IN", 800],
    ["HI-Deva-IN", 800],
    ["zz-ZZ", 500],
  ] as const) {
    const samples = await driver.speak({ text: "Good morning.", language });
    assert.ok(shareOfTone(samples, hz, 8_000) > 0.95, language);
  }
});

test("a command that cannot be run, ends badly, hangs, babbles or gives no sound fails, and says how", async () => {
  const utterance = { text: "Hello.", language: "en" };
  for (const [driver, reason] of [
    [open("/nowhere/speaker {language}"), /could not be run/],
    [open(`${beeper} beeps zz`), /it does not know zz/],
    [open(`${beeper} nothing`), /not a WAV file/],
    [open(`${beeper} babbles`), /gave too much sound/],
    [open(`${beeper} hangs`, 1), /took longer than 1 s/],
  ] as const)
    await assert.rejects(driver.speak(utterance), failed(reason));
});

test("a command understands speech, and where there is none, nothing does", async () => {
  const hearing = openCommandSpeech({
    command: beeper,
    recognize_command: `${beeper} hears {language}`,
  });
  const samples = Buffer.alloc(16_000);
  assert.equal(await hearing.recognize!(samples, "hi-IN"), "8000 Hz, 1000 ms of hi-IN");
  await assert.rejects(
    hearing.recognize!(samples, "--help"),
    (error) => error instanceof SpeechError,
  );
  const broken = openCommandSpeech({ command: beeper, recognize_command: `${beeper} beeps zz` });
  await assert.rejects(broken.recognize!(samples, "en"), failed(/it does not know zz/));
  assert.equal(open(beeper).recognize, null);
});
