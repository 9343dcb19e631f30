// Resampling between the sample rate of calls and those of speech services.
import { openRateConverter } from "./convert-rate.ts";

/** Converts a stream of signed 16-bit little-endian samples to another rate. */
export type Resampler = {
  /** Converts a piece of any length, even of odd bytes; the output does not depend on the cuts. Lags 4 ms at 8 kHz. */
  push(samples: Buffer): Buffer;
  /** Returns the remaining output; `push` must not be called afterwards. */
  flush(): Buffer;
};

/** Opens a resampler between rates in whole Hz, such as 8,000 and 24,000. */
export function openResampler(from_hz: number, to_hz: number): Resampler {
  const converter = openRateConverter(from_hz, to_hz);
  let odd = Buffer.alloc(0);
  return {
    push(samples) {
      const bytes = odd.length > 0 ? Buffer.concat([odd, samples]) : samples;
      const even = bytes.length - (bytes.length % 2);
      odd = Buffer.from(bytes.subarray(even));
      return toBytes(converter.push(toFloats(bytes.subarray(0, even))));
    },
    flush: () => toBytes(converter.flush()),
  };
}

/** Converts samples with full scale 1 to 16 bits and limits them to that range. */
export function toBytes(sound: Float32Array): Buffer {
  const bytes = Buffer.alloc(sound.length * 2);
  for (let index = 0; index < sound.length; index++) {
    const sample = Math.round(sound[index]! * 32_768);
    bytes.writeInt16LE(Math.max(-32_768, Math.min(32_767, sample)), index * 2);
  }
  return bytes;
}

function toFloats(bytes: Buffer): Float32Array {
  const sound = new Float32Array(bytes.length / 2);
  for (let index = 0; index < sound.length; index++)
    sound[index] = bytes.readInt16LE(index * 2) / 32_768;
  return sound;
}
