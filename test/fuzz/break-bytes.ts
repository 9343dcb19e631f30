import type { Random } from "./random.ts";

/** Truncates the bytes or inserts some that are not valid UTF-8 or JSON. */
export function breakBytes(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const rest = random.oneIn(3) ? Buffer.alloc(0) : bytes.subarray(at);
  const bad = Buffer.from(
    random.pick([[0xff], [0xc3], [0xed, 0xa0, 0x80], [0], [0x22], [0x5c], [0x7b], [0x0a], []]),
  );
  return Buffer.concat([bytes.subarray(0, at), bad, rest]);
}
