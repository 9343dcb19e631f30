import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from "./g711.ts";

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const everySample = Buffer.from(
  Int16Array.from({ length: 65_536 }, (_, index) => index - 32_768).buffer,
);

test("every G.711 byte decodes exactly as in ffmpeg", () => {
  const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  assert.equal(sha256(decodeMuLaw(everyByte)), "3dab54339e520bb2");
  assert.equal(sha256(decodeALaw(everyByte)), "e04788d110e58ff8");
});

test("decoded bytes encode to the same bytes", () => {
  assert.deepEqual(encodeALaw(decodeALaw(everyByte)), everyByte);
  // mu-law has two zeros and encodes the positive one.
  const oneZero = Buffer.from(everyByte.map((byte) => (byte === 0x7f ? 0xff : byte)));
  assert.deepEqual(encodeMuLaw(decodeMuLaw(everyByte)), oneZero);
});

test("every sample round-trips within half a quantization step, and silence stays silent", () => {
  for (const [encode, decode, quietest] of [
    [encodeMuLaw, decodeMuLaw, 4],
    [encodeALaw, decodeALaw, 8],
  ] as const) {
    const back = decode(encode(everySample));
    for (let offset = 0; offset < everySample.length; offset += 2) {
      const sample = everySample.readInt16LE(offset);
      const error = Math.abs(sample - back.readInt16LE(offset));
      // Samples above the largest code (32,124 in mu-law) are limited to it.
      const most = Math.max(quietest, (Math.abs(sample) + 132) / 32, Math.abs(sample) - 32_124);
      assert.ok(error <= most, `${sample} came back ${error} off`);
    }
  }
  assert.deepEqual(encodeMuLaw(Buffer.alloc(4)), Buffer.from([0xff, 0xff]));
  assert.deepEqual(encodeALaw(Buffer.alloc(4)), Buffer.from([0xd5, 0xd5]));
});
