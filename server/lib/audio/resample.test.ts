import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openResampler } from "./resample.ts";
import { shareOfTone } from "../../../test/support/share-of-tone.ts";
import { loudnessOf, tone } from "../../../test/support/tones.ts";

const rates = [
  [8_000, 24_000],
  [24_000, 8_000],
  [8_000, 16_000],
  [16_000, 8_000],
  [44_100, 8_000],
  [22_050, 8_000],
  [11_127, 8_000],
] as const;

function resample(samples: Buffer, from_hz: number, to_hz: number): Buffer {
  const resampler = openResampler(from_hz, to_hz);
  return Buffer.concat([resampler.push(samples), resampler.flush()]);
}

test("the output does not depend on how the input is cut, even inside a sample", () => {
  const cuts = fc.array(fc.nat(700), { maxLength: 20 });
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 4_000 }),
      cuts,
      fc.constantFrom(...rates),
      (...given) => {
        const [bytes, sizes, [from_hz, to_hz]] = given;
        const sound = Buffer.from(bytes);
        const resampler = openResampler(from_hz, to_hz);
        let at = 0;
        const pieces = sizes.map((size) => resampler.push(sound.subarray(at, (at += size))));
        pieces.push(resampler.push(sound.subarray(at)), resampler.flush());
        const whole = resample(sound, from_hz, to_hz);
        assert.deepEqual(Buffer.concat(pieces), whole);
        const samples = Math.floor(sound.length / 2);
        assert.equal(whole.length / 2, Math.ceil((samples * to_hz) / from_hz));
      },
    ),
    { numRuns: 200 },
  );
});

test("a tone keeps its frequency, level and purity at every rate", () => {
  for (const [from_hz, to_hz] of rates)
    for (const hz of [200, 1_000, 3_000]) {
      const given = tone(1_000, { hz, rate_hz: from_hz, loudness: 16_000 });
      const output = resample(given, from_hz, to_hz);
      // Without the ends, which border on silence.
      const middle = output.subarray(to_hz / 5, output.length - to_hz / 5);
      const change = loudnessOf(middle) / loudnessOf(given);
      const what = `${hz} Hz from ${from_hz} to ${to_hz}`;
      assert.ok(Math.abs(change - 1) < 0.01, `${what}: ${change} times as loud`);
      assert.ok(shareOfTone(middle, hz, to_hz) > 0.999, `${what}: not pure`);
    }
});

test("frequencies that 8 kHz cannot carry do not alias", () => {
  for (const [from_hz, to_hz] of rates.filter(([from]) => from > 8_000))
    for (const hz of [4_100, 5_000, 5_500]) {
      const output = resample(
        tone(1_000, { hz, rate_hz: from_hz, loudness: 16_000 }),
        from_hz,
        to_hz,
      );
      const middle = output.subarray(to_hz / 5, output.length - to_hz / 5);
      assert.ok(loudnessOf(middle) < 65, `${hz} Hz from ${from_hz}: ${loudnessOf(middle)}`);
    }
});
