import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { speechDriverContract } from "../../../test/support/speech-driver-contract.ts";
import { openSpeech } from "./open-speech.ts";
import { openPackagedSpeech } from "./packaged-speech.ts";

speechDriverContract("the packaged synthesizer", () => {
  const driver = openPackagedSpeech({ recognize_command: null });
  const synthesizeAndDie = async () => {
    await driver.synthesize({ text: "Hello.", language: "en" });
    const pending = driver.synthesize({ text: "This will be cut off.", language: "en" });
    process.kill(driver.pid()!, "SIGKILL");
    return pending;
  };
  return { driver, synthesizeAndDie };
});

test("replaces a synthesizer that died while idle", async () => {
  const driver = openPackagedSpeech({ recognize_command: null });
  const once = await driver.synthesize({ text: "Hello.", language: "en" });
  process.kill(driver.pid()!, "SIGKILL");
  await eventually(() => driver.pid() === null);
  assert.deepEqual(await driver.synthesize({ text: "Hello.", language: "en" }), once);
});

test("uses the operator's command, else espeak-ng on the PATH, else the packaged synthesizer", () => {
  const path = process.env["PATH"];
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    process.env["PATH"] = folder;
    const none = { speech_command: null, speech_recognize_command: null };
    assert.match(openSpeech(none).voice, /^packaged /);
    assert.equal(openSpeech({ ...none, speech_command: "say it" }).voice, "say it");
    assert.ok(openSpeech({ ...none, speech_recognize_command: "recognize it" }).recognize);
    // Any program with a --version option.
    symlinkSync(process.execPath, join(folder, "espeak-ng"));
    assert.match(openSpeech(none).voice, /^espeak-ng /);
  } finally {
    process.env["PATH"] = path;
    rmSync(folder, { recursive: true });
  }
});
