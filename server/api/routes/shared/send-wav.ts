// Answers with a WAV file, or the part of it that a player asks for.
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../../../lib/errors.ts";

/** RIFF and the number of bytes that follow. */
const riff_bytes = 8;

/** Smaller files are no WAV files, or were never completed. */
const header_bytes = 44;

/** One range of bytes, as it is asked for: without `first`, the last `last` bytes. */
export type AskedRange = { readonly first: number | null; readonly last: number | null };

type Range = { readonly from: number; readonly to: number };

/** Returns the range of a GET; null if it asks for none, for several, or for other units than bytes (RFC 9110, 14.2). */
export function askedRange({ method, headers }: FastifyRequest): AskedRange | null {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "") ?? [];
  if (method !== "GET" || first + last === "") return null;
  if (first !== "" && last !== "" && Number(last) < Number(first)) return null;
  return { first: first === "" ? null : Number(first), last: last === "" ? null : Number(last) };
}

/**
 * Answers with the file as an attachment, or with 206 the range, of which alone is read. A HEAD opens nothing.
 * Refuses: range-not-satisfiable, for a range that begins after the end.
 */
export async function sendWav(
  request: FastifyRequest,
  reply: FastifyReply,
  wav: { readonly bytes: number; open(from: number, to: number): Promise<Readable> },
  file: string,
): Promise<Readable> {
  const range = askedRange(request);
  const part = range ? rangeWithin(range, wav.bytes) : { from: 0, to: wav.bytes - 1 };
  if (part === null) throw notSatisfiable(wav.bytes);
  // Before the headers, which a refusal must not have.
  const body = request.method === "HEAD" ? noBody() : await wav.open(part.from, part.to);
  describeFile(reply, file);
  if (range === null) void reply.header("content-length", wav.bytes);
  else describePart(reply, part, wav.bytes);
  return body;
}

/**
 * Does the same with a file that can only be read from its beginning, whose length its header has. A HEAD reads its
 * first bytes only.
 */
export async function sendWavStream(
  request: FastifyRequest,
  reply: FastifyReply,
  wav: Readable,
  { file, range }: { readonly file: string; readonly range: AskedRange | null },
): Promise<Readable> {
  describeFile(reply, file);
  if (range === null && request.method !== "HEAD") return wav;
  const chunks = wav[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const begin = await readAtLeast(chunks, riff_bytes);
  const total = begin.toString("latin1", 0, 4) === "RIFF" ? begin.readUInt32LE(4) + riff_bytes : 0;
  if (range === null) {
    wav.destroy();
    if (total > header_bytes) void reply.header("content-length", total);
    return noBody();
  }
  const whole = { from: 0, to: Number.POSITIVE_INFINITY };
  const part = total > header_bytes ? rangeWithin(range, total) : whole;
  if (part === null) {
    wav.destroy();
    throw notSatisfiable(total);
  }
  if (part !== whole) describePart(reply, part, total);
  const sent = Readable.from(bytesOf(begin, chunks, part), { objectMode: false });
  // Also if the client goes before the first byte is read.
  sent.once("close", () => wav.destroy());
  return sent;
}

function describeFile(reply: FastifyReply, file: string): void {
  void reply.header("content-type", "audio/wav");
  void reply.header("content-disposition", `attachment; filename="${file}"`);
  void reply.header("accept-ranges", "bytes");
}

function describePart(reply: FastifyReply, { from, to }: Range, total: number): void {
  void reply.code(206);
  void reply.header("content-range", `bytes ${from}-${to}/${total}`);
  void reply.header("content-length", to - from + 1);
}

function notSatisfiable(total: number): Refusal {
  return new Refusal("range-not-satisfiable", `The file has ${total} bytes`, {
    headers: { "content-range": `bytes */${total}` },
  });
}

/** Returns the body of the answer to a HEAD: a stream, because Fastify replaces the length of other bodies by theirs. */
function noBody(): Readable {
  return Readable.from([]);
}

/** Returns the range within a file of `total` bytes; null if it begins after its end. */
function rangeWithin({ first, last }: AskedRange, total: number): Range | null {
  const from = first ?? Math.max(0, total - last!);
  const to = first === null || last === null ? total - 1 : Math.min(last, total - 1);
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

/** Yields a range of a file, of which `begin` was read from `rest` before. */
async function* bytesOf(
  begin: Buffer,
  rest: AsyncIterator<Buffer, undefined>,
  { from, to }: Range,
): AsyncGenerator<Buffer> {
  let at = 0;
  let chunk: Buffer | undefined = begin;
  while (chunk !== undefined && at <= to) {
    const wanted = chunk.subarray(Math.max(0, from - at), to - at + 1);
    if (wanted.length > 0) yield wanted;
    at += chunk.length;
    const next = await rest.next();
    chunk = next.done ? undefined : next.value;
  }
}
