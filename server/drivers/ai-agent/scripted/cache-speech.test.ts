import assert from "node:assert/strict";
import { test } from "node:test";
import { openScriptedSpeech } from "../../../../test/support/scripted-speech.ts";
import type { Utterance } from "../../speech/driver.ts";
import { cacheSpeech } from "./cache-speech.ts";

test("synthesizes a text once per language and owner, also for concurrent requests, and retries after a failure", async () => {
  const scripted = openScriptedSpeech();
  const asked: string[] = [];
  const cached = cacheSpeech();
  const synthesize = (utterance: Utterance, owner = "1") =>
    cached(
      {
        owner,
        synthesize({ text, language }) {
          asked.push(`${owner} ${language} ${text}`);
          return scripted.synthesize({ text, language });
        },
      },
      utterance,
    );
  const [one, two] = await Promise.all([
    synthesize({ text: "hello", language: "en" }),
    synthesize({ text: "hello", language: "en" }),
  ]);
  assert.equal(one, two);
  await synthesize({ text: "hello", language: "hi" });
  await synthesize({ text: "hello", language: "en" }, "2");
  scripted.setBroken(true);
  await assert.rejects(synthesize({ text: "bye", language: "en" }));
  scripted.setBroken(false);
  await synthesize({ text: "bye", language: "en" });
  assert.deepEqual(asked, ["1 en hello", "1 hi hello", "2 en hello", "1 en bye", "1 en bye"]);
});

test("evicts the least recently used texts beyond the size limit", async () => {
  const asked: string[] = [];
  const synthesize = cacheSpeech();
  const by = {
    owner: "1",
    async synthesize({ text }: Utterance) {
      asked.push(text);
      return Buffer.alloc(6_000_000);
    },
  };
  const texts = ["a", "b", "a", "c", "a", "b"];
  for (const text of texts) await synthesize(by, { text, language: "en" });
  assert.deepEqual(asked, ["a", "b", "c", "b"]);
});
