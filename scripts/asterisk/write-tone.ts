import { writeFileSync } from "node:fs";

const samples_per_second = 8_000;

/** Writes a WAV (8 kHz, mono, 16 bit) of one tone, as Asterisk plays it. */
export function writeTone(path: string, seconds: number, hertz: number): void {
  const count = Math.round(seconds * samples_per_second);
  const wav = Buffer.alloc(44 + 2 * count);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(36 + 2 * count, 4);
  wav.write("WAVEfmt ", 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20); // PCM.
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(samples_per_second, 24);
  wav.writeUInt32LE(2 * samples_per_second, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write("data", 36);
  wav.writeUInt32LE(2 * count, 40);
  for (let index = 0; index < count; index += 1) {
    const angle = (2 * Math.PI * hertz * index) / samples_per_second;
    wav.writeInt16LE(Math.round(9_000 * Math.sin(angle)), 44 + 2 * index);
  }
  writeFileSync(path, wav);
}
