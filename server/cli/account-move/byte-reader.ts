/** Reads a stream of bytes in pieces of a chosen length. */
export type ByteReader = {
  /** Returns exactly `length` bytes; null if the stream ends before. */
  read(length: number): Promise<Buffer | null>;
  /** Returns a line with its line break; null if there is none within `max` bytes. */
  readLine(max: number): Promise<Buffer | null>;
};

export function openByteReader(source: AsyncIterable<Buffer>): ByteReader {
  const chunks = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  /** Holds at least `length` bytes, or all that are left. */
  const fill = async (length: number) => {
    const parts = [held];
    let bytes = held.length;
    while (bytes < length) {
      const next = await chunks.next();
      if (next.done) break;
      parts.push(next.value);
      bytes += next.value.length;
    }
    if (parts.length > 1) held = Buffer.concat(parts);
  };
  const take = (length: number) => {
    const taken = held.subarray(0, length);
    held = held.subarray(length);
    return taken;
  };
  return {
    async read(length) {
      await fill(length);
      return held.length < length ? null : take(length);
    },
    async readLine(max) {
      await fill(max);
      const end = held.subarray(0, max).indexOf("\n");
      return end === -1 ? null : take(end + 1);
    },
  };
}
