// Decodes the text of an uploaded file in any of the usual encodings. Runs in its own thread, so it reads
// synchronously.
import { isUtf8 } from "node:buffer";
import { readSync } from "node:fs";
import iconv from "iconv-lite";

const chunk_bytes = 65_536;

export type Encoding = "utf8" | "utf16le" | "utf16be" | "win1252";

/** Returns the encoding by byte order mark; without one, UTF-8 if all bytes are valid, else Windows-1252. */
export function detectEncoding(fd: number): Encoding {
  const head = Buffer.alloc(4);
  const bytes = readSync(fd, head, 0, head.length, 0);
  if (bytes >= 2 && head.readUInt16BE(0) === 0xfffe) return "utf16le";
  if (bytes >= 2 && head.readUInt16BE(0) === 0xfeff) return "utf16be";
  return isAllUtf8(fd) ? "utf8" : "win1252";
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
  let rest = Buffer.alloc(0);
  for (const chunk of readBytes(fd)) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = wholeLength(bytes);
    if (!isUtf8(bytes.subarray(0, whole))) return false;
    rest = bytes.subarray(whole);
  }
  return rest.length === 0;
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
