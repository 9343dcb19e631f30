import assert from "node:assert/strict";

/** Returns the length and the peak of a 16-bit mono WAV file at 8 kHz; throws for any other format. */
export function readWav(file: Buffer): { length_ms: number; peak: number } {
  assert.equal(file.toString("latin1", 0, 4), "RIFF");
  assert.equal(file.toString("latin1", 8, 16), "WAVEfmt ");
  const [format, channels] = [file.readUInt16LE(20), file.readUInt16LE(22)];
  const [rate, bits] = [file.readUInt32LE(24), file.readUInt16LE(34)];
  assert.deepEqual(
    { format, channels, rate, bits },
    { format: 1, channels: 1, rate: 8_000, bits: 16 },
  );
  const data = file.subarray(file.indexOf("data") + 8);
  const samples = Array.from({ length: Math.floor(data.length / 2) }, (_, index) =>
    Math.abs(data.readInt16LE(index * 2)),
  );
  const peak = samples.reduce((highest, sample) => Math.max(highest, sample), 0);
  return { length_ms: samples.length / 8, peak };
}
