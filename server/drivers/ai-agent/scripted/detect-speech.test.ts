import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { silence, tone } from "../../../../test/support/tones.ts";
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import { detectSpeech } from "./detect-speech.ts";

/** Returns when each detected speech began and how long it lasted, in ms of the audio. */
function findIn(sound: Buffer, cuts: readonly number[] = []) {
  const found: { began_ms: number; said_ms: number | null }[] = [];
  let received = 0;
  const listen = detectSpeech({
    began: () => void found.push({ began_ms: received / bytes_per_ms, said_ms: null }),
    ended: (samples) => void (found.at(-1)!.said_ms = samples.length / bytes_per_ms),
  });
  let at = 0;
  const ends = [...cuts, sound.length].map((end) => Math.min(end, sound.length));
  for (const end of ends.toSorted((a, b) => a - b)) {
    received = end;
    listen(sound.subarray(at, end));
    at = end;
  }
  return found;
}

/** The ends of chunks of 20 ms. */
function frames(sound: Buffer): number[] {
  return Array.from({ length: sound.length / 320 }, (_, index) => (index + 1) * 320);
}

test("speech begins after 80 ms of sound and ends after 700 ms of silence, and includes shorter pauses", () => {
  const sound = Buffer.concat([
    silence(1_000),
    tone(600),
    silence(500),
    tone(400),
    silence(1_000),
    tone(200),
    silence(1_000),
  ]);
  const found = findIn(sound, frames(sound));
  assert.deepEqual(
    found.map(({ began_ms }) => began_ms),
    [1_080, 3_580],
  );
  // From 220 ms before the sound, because 300 ms before the detection are kept, to 700 ms after it.
  assert.deepEqual(
    found.map(({ said_ms }) => said_ms),
    [220 + 1_500 + 700, 220 + 200 + 700],
  );
});

test("detects speech above the line noise, and neither clicks nor noise as speech", () => {
  const noise = (ms: number) => tone(ms, { hz: 120, loudness: 700 });
  const click = Buffer.concat([tone(40), silence(400)]);
  assert.deepEqual(findIn(Buffer.concat([click, click, click])), []);
  const line = Buffer.concat([silence(200), ...Array.from({ length: 4 }, () => noise(5_000))]);
  // Noise from the start may be detected as speech once.
  assert.ok(findIn(line).length <= 1);
  const noisy = Buffer.concat([line, tone(800, { loudness: 9_000 }), noise(2_000)]);
  const [last] = findIn(noisy, frames(noisy)).slice(-1);
  assert.equal(last?.began_ms, 20_280);
  assert.ok(last.said_ms !== null && last.said_ms < 2_500);
});

test("splits speech without pauses into parts of 15 s", () => {
  const sound = Buffer.concat([silence(400), tone(40_000)]);
  const found = findIn(sound, frames(sound));
  assert.equal(found[0]?.said_ms, 15_000);
});

test("finds the same speech however the audio is divided into chunks", () => {
  const sound = Buffer.concat([silence(300), tone(500), silence(900), tone(300), silence(800)]);
  const whole = findIn(sound).map(({ said_ms }) => said_ms);
  assert.equal(whole.length, 2);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: sound.length })), (cuts) => {
      assert.deepEqual(
        findIn(sound, cuts).map(({ said_ms }) => said_ms),
        whole,
      );
    }),
    { numRuns: 25 },
  );
});
