import { writeFileSync } from "node:fs";

const samples_per_second = 8_000;
/** One period of 200 Hz, loud, and silence, as the bytes of the telephone network (µ-law). */
const hum = Buffer.from([...Array<number>(20).fill(0x98), ...Array<number>(20).fill(0x18)]);
const silence = Buffer.from([0xff]);

/** What a far end says, as sipp sends it: for so many seconds each a hum or silence, in turn. */
export function writeVoice(path: string, seconds: readonly number[]): void {
  const parts = seconds.map((length, index) =>
    Buffer.alloc(length * samples_per_second, index % 2 === 0 ? hum : silence),
  );
  writeFileSync(path, Buffer.concat(parts));
}
