import { writeFileSync } from "node:fs";

const samples_per_second = 8_000;
/** One period of a loud 200 Hz hum, and silence, in µ-law. */
const hum = Buffer.from([...Array<number>(20).fill(0x98), ...Array<number>(20).fill(0x18)]);
const silence = Buffer.from([0xff]);

/** Writes a file of µ-law audio: a hum and silence alternately, for these seconds each. */
export function writeVoice(path: string, seconds: readonly number[]): void {
  const parts = seconds.map((length, index) =>
    Buffer.alloc(length * samples_per_second, index % 2 === 0 ? hum : silence),
  );
  writeFileSync(path, Buffer.concat(parts));
}
