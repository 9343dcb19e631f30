// Answers with a WAV file, or the part of it that a player asks for.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

/** RIFF and the number of bytes that follow. */
const riff_bytes = 8;

type Range = { readonly from: number; readonly to: number };

/**
 * Answers with the file as an attachment: with 206 and its bytes if `range` is one range within the file
 * (RFC 9110, section 14), else with 200 and all of it.
 */
export async function sendWav(
  reply: FastifyReply,
  wav: Readable,
  { file, range }: { readonly file: string; readonly range: string | undefined },
): Promise<Readable> {
  void reply.header("content-type", "audio/wav");
  void reply.header("content-disposition", `attachment; filename="${file}"`);
  void reply.header("accept-ranges", "bytes");
  if (range === undefined) return wav;
  const chunks = wav[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const begin = await readAtLeast(chunks, riff_bytes);
  const total = begin.toString("latin1", 0, 4) === "RIFF" ? begin.readUInt32LE(4) + riff_bytes : 0;
  const part = readRange(range, total);
  if (part) {
    void reply.code(206);
    void reply.header("content-range", `bytes ${part.from}-${part.to}/${total}`);
    void reply.header("content-length", part.to - part.from + 1);
  }
  const bytes = bytesOf(wav, begin, chunks, part ?? { from: 0, to: Number.POSITIVE_INFINITY });
  return Readable.from(bytes, { objectMode: false });
}

/** Returns one range of a file of `total` bytes; null if it is invalid, several, or not within the file. */
function readRange(range: string, total: number): Range | null {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? [];
  if (first === undefined || last === undefined || first + last === "") return null;
  const from = first === "" ? Math.max(0, total - Number(last)) : Number(first);
  const to = first === "" || last === "" ? total - 1 : Math.min(Number(last), total - 1);
  return from <= to ? { from, to } : null;
}

async function readAtLeast(
  chunks: AsyncIterator<Buffer, undefined>,
  bytes: number,
): Promise<Buffer> {
  let read = Buffer.alloc(0);
  while (read.length < bytes) {
    const next = await chunks.next();
    if (next.done) break;
    read = Buffer.concat([read, next.value]);
  }
  return read;
}

/** Yields a range of a file, and closes the file after it. `begin` was read from `rest` before. */
async function* bytesOf(
  wav: Readable,
  begin: Buffer,
  rest: AsyncIterator<Buffer, undefined>,
  { from, to }: Range,
): AsyncGenerator<Buffer> {
  try {
    let at = 0;
    let chunk: Buffer | undefined = begin;
    while (chunk !== undefined && at <= to) {
      const wanted = chunk.subarray(Math.max(0, from - at), to - at + 1);
      if (wanted.length > 0) yield wanted;
      at += chunk.length;
      const next = await rest.next();
      chunk = next.done ? undefined : next.value;
    }
  } finally {
    wav.destroy();
  }
}
