import { sample_rate_hz } from "../../server/lib/audio/audio.ts";

/** Returns a tone as signed 16-bit little-endian samples. */
export function tone(
  ms: number,
  { hz = 440, loudness = 8_000, rate_hz = sample_rate_hz } = {},
): Buffer {
  const samples = Buffer.alloc(Math.round((ms * rate_hz) / 1_000) * 2);
  for (let index = 0; index * 2 < samples.length; index++) {
    const sample = loudness * Math.sin((2 * Math.PI * hz * index) / rate_hz);
    samples.writeInt16LE(Math.round(sample), index * 2);
  }
  return samples;
}

export function silence(ms: number): Buffer {
  return tone(ms, { loudness: 0 });
}

/** Returns the root mean square of the samples; 0 without samples. */
export function loudnessOf(samples: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < samples.length; at += 2) sum += samples.readInt16LE(at) ** 2;
  return samples.length < 2 ? 0 : Math.sqrt(sum / Math.floor(samples.length / 2));
}

/** Returns the frequency of a tone in 8 kHz samples, by its zero crossings. */
export function pitchOf(samples: Buffer): number {
  let rises = 0;
  for (let at = 2; at + 1 < samples.length; at += 2) {
    if (samples.readInt16LE(at - 2) < 0 && samples.readInt16LE(at) >= 0) rises += 1;
  }
  return (rises * sample_rate_hz) / (samples.length / 2);
}
