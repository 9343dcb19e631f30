/** One packet of a stream inside an Ogg file (RFC 3533). */
export type OggPacket = {
  readonly serial: number;
  readonly bytes: Buffer;
  /** The granule position of the page on which the packet ends; -1n when the page has none. */
  readonly granule: bigint;
};

const packet_bytes_max = 1_048_576;
const continued = 1;

/** Yields the packets of all streams in order; skips data between pages and incomplete packets. */
export function* oggPackets(file: Buffer): Generator<OggPacket> {
  const unfinished = new Map<number, Buffer[]>();
  for (let offset = file.indexOf("OggS"); offset >= 0 && offset + 27 <= file.length;) {
    const serial = file.readUInt32LE(offset + 14);
    const granule = file.readBigInt64LE(offset + 6);
    const lacing = file.subarray(offset + 27, offset + 27 + file[offset + 26]!);
    let at = offset + 27 + lacing.length;
    // A continued packet is dropped when its start is missing, and an unfinished one when its end is.
    const isContinued = (file[offset + 5]! & continued) !== 0;
    let parts = isContinued ? unfinished.get(serial) : [];
    unfinished.delete(serial);
    for (const size of lacing) {
      parts?.push(file.subarray(at, at + size));
      at += size;
      if (size === 255) continue;
      const bytes = parts === undefined ? null : Buffer.concat(parts);
      if (bytes !== null && at <= file.length && bytes.length <= packet_bytes_max)
        yield { serial, bytes, granule };
      parts = [];
    }
    if (lacing.at(-1) === 255 && parts !== undefined && parts.length <= packet_bytes_max / 255)
      unfinished.set(serial, parts);
    offset = file.indexOf("OggS", at);
  }
}
