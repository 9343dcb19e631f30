import assert from "node:assert/strict";
import { test } from "node:test";
import { openScriptedSpeech } from "../../../../test/support/scripted-speech.ts";
import { cacheSpeech } from "./cache-speech.ts";

test("synthesizes a text once per language, also for concurrent requests, and retries after a failure", async () => {
  const scripted = openScriptedSpeech();
  const asked: string[] = [];
  const synthesize = cacheSpeech({
    ...scripted,
    synthesize(utterance) {
      asked.push(`${utterance.language} ${utterance.text}`);
      return scripted.synthesize(utterance);
    },
  });
  const [one, two] = await Promise.all([
    synthesize({ text: "hello", language: "en" }),
    synthesize({ text: "hello", language: "en" }),
  ]);
  assert.equal(one, two);
  await synthesize({ text: "hello", language: "hi" });
  scripted.setBroken(true);
  await assert.rejects(synthesize({ text: "bye", language: "en" }));
  scripted.setBroken(false);
  await synthesize({ text: "bye", language: "en" });
  assert.deepEqual(asked, ["en hello", "hi hello", "en bye", "en bye"]);
});

test("evicts the least recently used texts beyond the size limit", async () => {
  const asked: string[] = [];
  const synthesize = cacheSpeech({
    ...openScriptedSpeech(),
    async synthesize({ text }) {
      asked.push(text);
      return Buffer.alloc(6_000_000);
    },
  });
  const texts = ["a", "b", "a", "c", "a", "b"];
  for (const text of texts) await synthesize({ text, language: "en" });
  assert.deepEqual(asked, ["a", "b", "c", "b"]);
});
