// What every speech driver must do, whatever speaks behind it.
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { bytes_per_ms } from "../../server/lib/audio/audio.ts";
import { SpeechError, type SpeechDriver } from "../../server/drivers/speech/driver.ts";

export type SpeechDriverUnderTest = {
  readonly driver: SpeechDriver;
  /** Speaks, and lets what speaks be killed in the middle of it; null: there is no way to. */
  readonly speakAndDie: (() => Promise<Buffer>) | null;
};

const language = "en";

/** Registers the suite. Tests run one after another. */
export function speechDriverContract(name: string, open: () => SpeechDriverUnderTest): void {
  suite(`the contract of speech drivers: ${name}`, () => {
    let under: SpeechDriverUnderTest;
    const speak = (text: string) => under.driver.speak({ text, language });
    before(() => {
      under = open();
    });

    test("it says something that can be heard, and takes longer for more", async () => {
      const [short, long] = await Promise.all([
        speak("Hello."),
        speak("Hello, and welcome. This is a much longer text, of two sentences."),
      ]);
      assertAudible(short);
      assertAudible(long);
      assert.ok(long.length > short.length * 1.5, `${long.length} after ${short.length} bytes`);
      assert.ok(under.driver.voice.length > 0);
    });

    test("the same text sounds the same, in any case of its language, and unknown languages are spoken", async () => {
      const [once, again] = [await speak("Good morning."), await speak("Good morning.")];
      assert.deepEqual(once, again);
      for (const other of ["hi", "en-IN", "zz", "qqq-Latn-ZZ"])
        assertAudible(await under.driver.speak({ text: "Good morning.", language: other }));
    });

    test("nothing, too much, and what is no language are rejected", async () => {
      for (const text of ["", "  \n\t", "\0\u0001", "a".repeat(5_001), "😀".repeat(5_001)])
        await assert.rejects(speak(text), isRejected, JSON.stringify(text.slice(0, 9)));
      for (const bad of ["", "e", "-w/tmp/x", "en; id", "en --stdin", "../en", "en\n"])
        await assert.rejects(
          under.driver.speak({ text: "Hello.", language: bad }),
          isRejected,
          bad,
        );
      assertAudible(await speak("Hello, it is me. ".repeat(294)));
    });

    test("markup, quotes, controls, emoji, halves of characters and what looks like an option are only text", async () => {
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
        assertAudible(await speak(text), text);
    });

    test("twenty at once are all spoken, each as it is spoken alone", async () => {
      const texts = Array.from({ length: 20 }, (_, index) => `This is number ${index % 4}.`);
      const alone = await Promise.all(texts.slice(0, 4).map(speak));
      const spoken = await Promise.all(texts.map(speak));
      for (const [index, samples] of spoken.entries())
        assert.deepEqual(samples, alone[index % 4], texts[index]);
    });

    test("when what speaks is killed, what it was saying fails, and what comes next is spoken", async () => {
      if (under.speakAndDie !== null) await assert.rejects(under.speakAndDie(), isFailed);
      assertAudible(await speak("And it goes on."));
    });
  });
}

function assertAudible(samples: Buffer, what?: string): void {
  assert.equal(samples.length % 2, 0, what);
  assert.ok(samples.length >= 50 * bytes_per_ms, what);
  let power = 0;
  for (let offset = 0; offset < samples.length; offset += 2)
    power += samples.readInt16LE(offset) ** 2;
  const loudness = Math.sqrt(power / (samples.length / 2)) / 32_768;
  assert.ok(loudness > 0.005, `${what ?? "it"} is silent (${loudness})`);
}

function isRejected(error: unknown): boolean {
  return error instanceof SpeechError && error.failure === "rejected";
}

function isFailed(error: unknown): boolean {
  return error instanceof SpeechError && error.failure === "failed";
}
