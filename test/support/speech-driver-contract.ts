// The contract suite of speech drivers.
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { bytes_per_ms } from "../../server/lib/audio/audio.ts";
import { SpeechError, type SpeechDriver } from "../../server/drivers/speech/driver.ts";

export type SpeechDriverUnderTest = {
  readonly driver: SpeechDriver;
  /** Synthesizes a text and kills the synthesizer meanwhile; null: not possible with this driver. */
  readonly synthesizeAndDie: (() => Promise<Buffer>) | null;
};

const language = "en";

/** Registers the suite. Tests run one after another. */
export function speechDriverContract(name: string, open: () => SpeechDriverUnderTest): void {
  suite(`the contract of speech drivers: ${name}`, () => {
    let under: SpeechDriverUnderTest;
    const synthesize = (text: string) => under.driver.synthesize({ text, language });
    before(() => {
      under = open();
    });

    test("synthesizes audible speech, longer for a longer text", async () => {
      const [short, long] = await Promise.all([
        synthesize("Hello."),
        synthesize("Hello, and welcome. This is a much longer text, of two sentences."),
      ]);
      assertAudible(short);
      assertAudible(long);
      assert.ok(long.length > short.length * 1.5, `${long.length} after ${short.length} bytes`);
      assert.ok(under.driver.voice.length > 0);
    });

    test("synthesizes a text the same each time, and also in unknown languages", async () => {
      const [once, again] = [await synthesize("Good morning."), await synthesize("Good morning.")];
      assert.deepEqual(once, again);
      for (const other of ["hi", "en-IN", "zz", "qqq-Latn-ZZ"])
        assertAudible(await under.driver.synthesize({ text: "Good morning.", language: other }));
    });

    test("rejects empty and overlong texts and invalid languages", async () => {
      for (const text of ["", "  \n\t", "\0\u0001", "a".repeat(5_001), "😀".repeat(5_001)])
        await assert.rejects(synthesize(text), isRejected, JSON.stringify(text.slice(0, 9)));
      for (const bad of ["", "e", "-w/tmp/x", "en; id", "en --stdin", "../en", "en\n"])
        await assert.rejects(
          under.driver.synthesize({ text: "Hello.", language: bad }),
          isRejected,
          bad,
        );
      assertAudible(await synthesize("Hello, it is me. ".repeat(294)));
    });

    test("treats markup, quotes, control characters, emoji, lone surrogates and options as plain text", async () => {
      for (const text of [
        "--help",
        "-w /tmp/never-written.wav hello",
        "$(id) `id` ; id | id && id > /tmp/never-written",
        "<speak><voice name='x'/>hello</speak>",
        "[[hello]] ]] \"hello\" 'hello' \\hello\\ %s %n",
        "hello\0\u0001\u001b[2Jhello\r\nhello\u2028hello\u2029hello",
        "hello 😀👩‍👩‍👧 \ud83d hello",
        "नमस्ते, hello, שלום, 你好",
        '{"text": "hello"}\n{"text": "hello"}',
      ])
        assertAudible(await synthesize(text), text);
    });

    test("synthesizes twenty texts at once, each as it sounds alone", async () => {
      const texts = Array.from({ length: 20 }, (_, index) => `This is number ${index % 4}.`);
      const alone = await Promise.all(texts.slice(0, 4).map(synthesize));
      const together = await Promise.all(texts.map(synthesize));
      for (const [index, samples] of together.entries())
        assert.deepEqual(samples, alone[index % 4], texts[index]);
    });

    test("fails when the synthesizer is killed and synthesizes the next text", async () => {
      if (under.synthesizeAndDie !== null) await assert.rejects(under.synthesizeAndDie(), isFailed);
      assertAudible(await synthesize("And it goes on."));
    });
  });
}

function assertAudible(samples: Buffer, description?: string): void {
  assert.equal(samples.length % 2, 0, description);
  assert.ok(samples.length >= 50 * bytes_per_ms, description);
  let power = 0;
  for (let offset = 0; offset < samples.length; offset += 2)
    power += samples.readInt16LE(offset) ** 2;
  const loudness = Math.sqrt(power / (samples.length / 2)) / 32_768;
  assert.ok(loudness > 0.005, `${description ?? "the audio"} is silent (${loudness})`);
}

function isRejected(error: unknown): boolean {
  return error instanceof SpeechError && error.failure === "rejected";
}

function isFailed(error: unknown): boolean {
  return error instanceof SpeechError && error.failure === "failed";
}
