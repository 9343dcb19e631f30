import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { speechDriverContract } from "../../../test/support/speech-driver-contract.ts";
import { openSpeech } from "./open-speech.ts";
import { openPackagedSpeech } from "./packaged-speech.ts";

speechDriverContract("the packaged speaker", () => {
  const driver = openPackagedSpeech({ recognize_command: null });
  const speakAndDie = async () => {
    await driver.speak({ text: "Hello.", language: "en" });
    const spoken = driver.speak({ text: "This will be cut off.", language: "en" });
    process.kill(driver.pid()!, "SIGKILL");
    return spoken;
  };
  return { driver, speakAndDie };
});

test("a speaker that died while nothing was said is replaced", async () => {
  const driver = openPackagedSpeech({ recognize_command: null });
  const once = await driver.speak({ text: "Hello.", language: "en" });
  process.kill(driver.pid()!, "SIGKILL");
  await eventually(() => driver.pid() === null);
  assert.deepEqual(await driver.speak({ text: "Hello.", language: "en" }), once);
});

test("the operator's command speaks, else espeak-ng on the PATH, else the packaged one", () => {
  const path = process.env["PATH"];
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    process.env["PATH"] = folder;
    const none = { speech_command: null, speech_recognize_command: null };
    assert.match(openSpeech(none).voice, /^packaged /);
    assert.equal(openSpeech({ ...none, speech_command: "say it" }).voice, "say it");
    assert.ok(openSpeech({ ...none, speech_recognize_command: "hear it" }).recognize);
    // Any program that has a --version.
    symlinkSync(process.execPath, join(folder, "espeak-ng"));
    assert.match(openSpeech(none).voice, /^espeak-ng /);
  } finally {
    process.env["PATH"] = path;
    rmSync(folder, { recursive: true });
  }
});
