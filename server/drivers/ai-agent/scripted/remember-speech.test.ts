import assert from "node:assert/strict";
import { test } from "node:test";
import { openScriptedSpeech } from "../../../../test/support/scripted-speech.ts";
import { rememberSpeech } from "./remember-speech.ts";

test("one text is spoken once in each language, also at the same time, and a failure is tried again", async () => {
  const told = openScriptedSpeech();
  const asked: string[] = [];
  const speak = rememberSpeech({
    ...told,
    speak(utterance) {
      asked.push(`${utterance.language} ${utterance.text}`);
      return told.speak(utterance);
    },
  });
  const [one, two] = await Promise.all([
    speak({ text: "hello", language: "en" }),
    speak({ text: "hello", language: "en" }),
  ]);
  assert.equal(one, two);
  await speak({ text: "hello", language: "hi" });
  told.breakDown(true);
  await assert.rejects(speak({ text: "bye", language: "en" }));
  told.breakDown(false);
  await speak({ text: "bye", language: "en" });
  assert.deepEqual(asked, ["en hello", "hi hello", "en bye", "en bye"]);
});

test("what was not asked for lately is forgotten before it fills the memory", async () => {
  const asked: string[] = [];
  const speak = rememberSpeech({
    ...openScriptedSpeech(),
    async speak({ text }) {
      asked.push(text);
      return Buffer.alloc(6_000_000);
    },
  });
  const texts = ["a", "b", "a", "c", "a", "b"];
  for (const text of texts) await speak({ text, language: "en" });
  assert.deepEqual(asked, ["a", "b", "c", "b"]);
});
