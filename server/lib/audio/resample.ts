// The rates of the phone line and of what talks on it, both ways.
import { openRateConverter } from "./convert-rate.ts";

/** Signed 16-bit little-endian samples at another rate, as they come. */
export type Resampler = {
  /** Pieces of any length, odd bytes too: how it is cut does not matter. Runs 4 ms behind at 8 kHz. */
  push(samples: Buffer): Buffer;
  /** What is still owed; nothing may be pushed any more. */
  rest(): Buffer;
};

/** Rates in whole Hz, such as 8,000 and 24,000. */
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
    rest: () => toBytes(converter.rest()),
  };
}

/** 1 is the loudest; what is louder is cut. */
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
