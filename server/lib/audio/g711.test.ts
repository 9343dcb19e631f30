import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from "./g711.ts";

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const everySample = Buffer.from(
  Int16Array.from({ length: 65_536 }, (_, index) => index - 32_768).buffer,
);

test("every byte of G.711 decodes as in ffmpeg's decoders, bit for bit", () => {
  const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  assert.equal(sha256(decodeMuLaw(everyByte)), "3dab54339e520bb2");
  assert.equal(sha256(decodeALaw(everyByte)), "e04788d110e58ff8");
});

test("what was decoded encodes to the same bytes again", () => {
  assert.deepEqual(encodeALaw(decodeALaw(everyByte)), everyByte);
  // Of its two zeros, mu-law writes the positive one.
  const oneZero = Buffer.from(everyByte.map((byte) => (byte === 0x7f ? 0xff : byte)));
  assert.deepEqual(encodeMuLaw(decodeMuLaw(everyByte)), oneZero);
});

test("every sample comes back within half a step of its loudness, and silence is silent", () => {
  for (const [encode, decode, quietest] of [
    [encodeMuLaw, decodeMuLaw, 4],
    [encodeALaw, decodeALaw, 8],
  ] as const) {
    const back = decode(encode(everySample));
    for (let offset = 0; offset < everySample.length; offset += 2) {
      const sample = everySample.readInt16LE(offset);
      const error = Math.abs(sample - back.readInt16LE(offset));
      // What is louder than the loudest code (mu-law's is 32,124) is cut.
      const most = Math.max(quietest, (Math.abs(sample) + 132) / 32, Math.abs(sample) - 32_124);
      assert.ok(error <= most, `${sample} came back ${error} off`);
    }
  }
  assert.deepEqual(encodeMuLaw(Buffer.alloc(4)), Buffer.from([0xff, 0xff]));
  assert.deepEqual(encodeALaw(Buffer.alloc(4)), Buffer.from([0xd5, 0xd5]));
});
