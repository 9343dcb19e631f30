// Encrypts and decrypts the file of an exported account: a line of JSON in plain, then chunks of AES-256-GCM. The key is
// derived from the passphrase by scrypt. A chunk's nonce is its place and whether it is the last, so that a chunk that
// is missing, repeated, moved or changed does not open.
import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { openByteReader } from "./byte-reader.ts";

/** An archive that cannot be read: damaged, or with another passphrase. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}

const format = "trunkline-account-1";
const chunk_bytes = 65_536;
const tag_bytes = 16;
const length_bytes = 4;
/** Marks the length of the last chunk. */
const last_bit = 0x8000_0000;
const line_bytes_max = 1_000;
/** 64 MB and a tenth of a second for each guess at a passphrase. */
const cost = { N: 65_536, r: 8, p: 1, maxmem: 128 * 1_048_576 };

const derive = promisify<string, Buffer, number, typeof cost, Buffer>(scrypt);

/** Encrypts a stream of bytes. */
export function sealArchive(passphrase: string) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const salt = randomBytes(16);
    const key = await derive(passphrase, salt, 32, cost);
    const salted = { format, salt: salt.toString("base64"), check: checkOf(key) };
    const line = Buffer.from(`${JSON.stringify(salted)}\n`);
    yield line;
    let place = 0;
    let held: Buffer[] = [];
    let held_bytes = 0;
    for await (const bytes of source) {
      held.push(bytes);
      held_bytes += bytes.length;
      if (held_bytes <= chunk_bytes) continue;
      let all = Buffer.concat(held);
      // The last chunk is never empty and never full before the end is known.
      for (; all.length > chunk_bytes; all = all.subarray(chunk_bytes))
        yield sealChunk(key, line, { place: place++, last: false }, all.subarray(0, chunk_bytes));
      held = [all];
      held_bytes = all.length;
    }
    yield sealChunk(key, line, { place, last: true }, Buffer.concat(held));
  };
}

/** Decrypts what `sealArchive` returned. Throws ArchiveError at the first byte that is not as it was. */
export function openArchive(passphrase: string) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const reader = openByteReader(source);
    const line = await reader.readLine(line_bytes_max);
    if (line === null) throw new ArchiveError("The file is not an exported account");
    const key = await keyOf(passphrase, line);
    for (let place = 0; ; place++) {
      const head = await reader.read(length_bytes);
      if (head === null) throw truncated();
      const word = head.readUInt32BE();
      const last = word >= last_bit;
      const length = last ? word - last_bit : word;
      if (length > chunk_bytes + tag_bytes || length < tag_bytes) throw damaged();
      const sealed = await reader.read(length);
      if (sealed === null) throw truncated();
      yield openChunk(key, line, { place, last }, sealed);
      if (!last) continue;
      if ((await reader.read(1)) !== null) throw damaged();
      return;
    }
  };
}

async function keyOf(passphrase: string, line: Buffer): Promise<Buffer> {
  const { format: found, salt, check } = parseLine(line);
  if (found !== format || typeof salt !== "string")
    throw new ArchiveError("The file is not an exported account of this format");
  const key = await derive(passphrase, Buffer.from(salt, "base64"), 32, cost);
  if (checkOf(key) === check) return key;
  throw new ArchiveError(
    "TRUNKLINE_EXPORT_PASSPHRASE is not the one that the account was exported with",
  );
}

function parseLine(line: Buffer): { format?: unknown; salt?: unknown; check?: unknown } {
  try {
    return JSON.parse(line.toString()) as object;
  } catch {
    return {};
  }
}

/** Distinguishes a wrong passphrase from a damaged file; discloses nothing about the key. */
function checkOf(key: Buffer): string {
  return createHash("sha256")
    .update("trunkline export check")
    .update(key)
    .digest("hex")
    .slice(0, 16);
}

type Chunk = { readonly place: number; readonly last: boolean };

function nonceOf({ place, last }: Chunk): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(place));
  nonce[11] = last ? 1 : 0;
  return nonce;
}

function sealChunk(key: Buffer, line: Buffer, chunk: Chunk, plain: Buffer): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key, nonceOf(chunk)).setAAD(line);
  const body = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  const head = Buffer.alloc(length_bytes);
  head.writeUInt32BE(body.length + (chunk.last ? last_bit : 0));
  return Buffer.concat([head, body]);
}

function openChunk(key: Buffer, line: Buffer, chunk: Chunk, sealed: Buffer): Buffer {
  const end = sealed.length - tag_bytes;
  const options = { authTagLength: tag_bytes };
  const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(chunk), options).setAAD(line);
  decipher.setAuthTag(sealed.subarray(end));
  const plain = decipher.update(sealed.subarray(0, end));
  try {
    decipher.final();
    return plain;
  } catch {
    throw damaged();
  }
}

function truncated(): ArchiveError {
  return new ArchiveError("The file is not complete: copy it again");
}

function damaged(): ArchiveError {
  return new ArchiveError("The file was changed or damaged: copy it again");
}
