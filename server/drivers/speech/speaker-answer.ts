// How the packaged speaker answers over its stdout: one byte that is 0 for a WAV file and 1 for the reason
// why there is none, the length in 32 bits, and then that.

export type SpeakerAnswer = { readonly spoke: boolean; readonly bytes: Buffer };

const header_bytes = 5;

export function encodeAnswer({ spoke, bytes }: SpeakerAnswer): Buffer {
  const header = Buffer.alloc(header_bytes);
  header.writeUInt8(spoke ? 0 : 1);
  header.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}

/** Takes what comes, in any pieces; gives the answer once it is whole. */
export function openAnswerReader(): (piece: Buffer) => SpeakerAnswer | null {
  let pieces: Buffer[] = [];
  let length = 0;
  return (piece) => {
    pieces.push(piece);
    length += piece.length;
    if (length < header_bytes) return null;
    if (pieces[0]!.length < header_bytes) pieces = [Buffer.concat(pieces)];
    const end = header_bytes + pieces[0]!.readUInt32LE(1);
    if (length < end) return null;
    const all = Buffer.concat(pieces);
    return { spoke: all[0] === 0, bytes: all.subarray(header_bytes, end) };
  };
}
