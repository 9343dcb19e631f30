import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { toneSpeech } from "../../../test/support/tone-speech.ts";
import { synthesizerOf } from "./audio-files.ts";

test("the texts of one account's AI agents do not delay those of another account", async () => {
  const began: string[] = [];
  const running: (() => void)[] = [];
  const speech = {
    ...toneSpeech,
    async synthesize(utterance: Parameters<typeof toneSpeech.synthesize>[0]) {
      began.push(utterance.text);
      const { promise, resolve } = Promise.withResolvers<void>();
      running.push(resolve);
      await promise;
      return toneSpeech.synthesize(utterance);
    },
  };
  const ask = (account_id: number, text: string) =>
    synthesizerOf({ speech }, account_id).synthesize({ text, language: "en" });
  const all = Array.from({ length: 6 }, (_, i) => ask(1, `first ${i}`));
  all.push(ask(2, "second"));
  while (began.length < all.length || running.length > 0) {
    running.shift()?.();
    await settled();
  }
  await Promise.all(all);
  assert.deepEqual(began.slice(0, 3), ["first 0", "first 1", "second"]);
});
