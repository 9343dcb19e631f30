// The packaged synthesizer's response on stdout: one byte (0: a WAV file, 1: an error text), the length in 32 bits,
// and the content.

export type SynthesizerResponse = { readonly ok: boolean; readonly bytes: Buffer };

const header_bytes = 5;

export function encodeResponse({ ok, bytes }: SynthesizerResponse): Buffer {
  const header = Buffer.alloc(header_bytes);
  header.writeUInt8(ok ? 0 : 1);
  header.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}

/** Returns a function that takes chunks of any size and returns the response once it is complete. */
export function openResponseReader(): (chunk: Buffer) => SynthesizerResponse | null {
  let chunks: Buffer[] = [];
  let length = 0;
  return (chunk) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length < header_bytes) return null;
    if (chunks[0]!.length < header_bytes) chunks = [Buffer.concat(chunks)];
    const end = header_bytes + chunks[0]!.readUInt32LE(1);
    if (length < end) return null;
    const all = Buffer.concat(chunks);
    return { ok: all[0] === 0, bytes: all.subarray(header_bytes, end) };
  };
}
