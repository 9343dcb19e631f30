// Decodes the text of an uploaded file in any of the usual encodings. Runs in its own thread, so it reads
// synchronously.
import { isUtf8 } from "node:buffer";
import { readSync } from "node:fs";
import iconv from "iconv-lite";
import { CsvRefused } from "./csv-refused.ts";

const chunk_bytes = 65_536;

export type Encoding = "utf8" | "utf16le" | "utf16be" | "win1252";

/**
 * Returns the encoding by byte order mark; without one, UTF-8 if all bytes are valid, else Windows-1252. Throws
 * CsvRefused for UTF-8 with invalid bytes, which has its mark, or more valid characters beyond ASCII than invalid bytes.
 */
export function detectEncoding(fd: number): Encoding {
  const head = Buffer.alloc(4);
  const bytes = readSync(fd, head, 0, head.length, 0);
  if (bytes >= 2 && head.readUInt16BE(0) === 0xfffe) return "utf16le";
  if (bytes >= 2 && head.readUInt16BE(0) === 0xfeff) return "utf16be";
  if (isAllUtf8(fd)) return "utf8";
  const { characters, invalid_bytes, invalid_line } = countUtf8(fd);
  if (isUtf8Mark(head) || characters > invalid_bytes)
    throw new CsvRefused(`line ${invalid_line}: has a byte that is not valid UTF-8`);
  return "win1252";
}

function isUtf8Mark(head: Buffer): boolean {
  return head.readUIntBE(0, 3) === 0xefbbbf;
}

/** Reads the file's text in chunks, without a byte order mark. */
export function* readText(fd: number, encoding: Encoding): Generator<string> {
  const decoder = iconv.getDecoder(encoding);
  for (const chunk of readBytes(fd)) {
    const text = decoder.write(chunk);
    if (text !== "") yield text;
  }
  const rest = decoder.end() ?? "";
  if (rest !== "") yield rest;
}

function* readBytes(fd: number): Generator<Buffer> {
  for (let position = 0; ;) {
    const chunk = Buffer.allocUnsafe(chunk_bytes);
    const bytes = readSync(fd, chunk, 0, chunk.length, position);
    if (bytes === 0) return;
    position += bytes;
    yield chunk.subarray(0, bytes);
  }
}

function isAllUtf8(fd: number): boolean {
  for (const bytes of readWhole(fd)) if (!isUtf8(bytes)) return false;
  return true;
}

/** Reads the bytes without a chunk border within a character. */
function* readWhole(fd: number): Generator<Buffer> {
  let rest = Buffer.alloc(0);
  for (const chunk of readBytes(fd)) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = wholeLength(bytes);
    yield bytes.subarray(0, whole);
    rest = bytes.subarray(whole);
  }
  yield rest;
}

/** Counts the characters beyond ASCII and the bytes that are not UTF-8; the first of these is in `invalid_line`. */
function countUtf8(fd: number) {
  const counts = { characters: 0, invalid_bytes: 0, invalid_line: 0 };
  let line = 1;
  let previous = 0;
  for (const bytes of readWhole(fd)) {
    for (let at = 0; at < bytes.length;) {
      const byte = bytes[at]!;
      const length = characterLength(bytes, at);
      if (length > 1) counts.characters++;
      if (length === 0 && counts.invalid_bytes++ === 0) counts.invalid_line = line;
      if (byte === 0x0d || (byte === 0x0a && previous !== 0x0d)) line++;
      previous = byte;
      at += length || 1;
    }
  }
  return counts;
}

/** Returns the bytes of the UTF-8 character that begins here, or 0 if none does. */
function characterLength(bytes: Buffer, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  const second = bytes[at + 1] ?? 0;
  if (first < 0xc2 || first > 0xf4 || !isContinuation(second)) return 0;
  if (first < 0xe0) return 2;
  // Longer than necessary, half of a surrogate pair, or beyond the last code point.
  if ((first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f)) return 0;
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f)) return 0;
  if (!isContinuation(bytes[at + 2])) return 0;
  if (first < 0xf0) return 3;
  return isContinuation(bytes[at + 3]) ? 4 : 0;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}

/** Returns where the last, possibly incomplete, character begins; holds back at most three bytes. */
function wholeLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? bytes.length - back : bytes.length;
    }
    if (byte < 0x80) return bytes.length;
  }
  return bytes.length;
}
