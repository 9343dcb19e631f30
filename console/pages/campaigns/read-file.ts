export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** A file that the server reads, because it is too large for a draft or not in UTF-8. */
export type LargeFile = {
  readonly file: File;
  /** Its first lines. */
  readonly head: string;
  readonly encoding: Encoding;
  /** The bytes of the byte order mark. */
  readonly bom_bytes: number;
};

const draft_bytes_max = 1_000_000;
const head_bytes = 65_536;

/** Returns the text of a small file, or a large file with its first lines. */
export async function readFile(file: File): Promise<string | LargeFile> {
  if (file.size <= draft_bytes_max) {
    const text = decode("utf-8", await file.arrayBuffer());
    if (text !== null) return text;
  }
  const bytes = await file.slice(0, head_bytes).arrayBuffer();
  const guessed = encodingOf(new Uint8Array(bytes));
  const encoding = decode(guessed, bytes) === null ? "windows-1252" : guessed;
  const text = decode(encoding, bytes)!;
  const end = file.size > head_bytes ? text.lastIndexOf("\n") : text.length;
  return { file, head: text.slice(0, end), encoding, bom_bytes: bomOf(new Uint8Array(bytes)) };
}

/** Returns null for bytes that are not of the encoding; the last character may be cut off. */
function decode(encoding: Encoding, bytes: ArrayBuffer): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}

function bomOf(bytes: Uint8Array): number {
  if (encodingOf(bytes) !== "utf-8") return 2;
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

function encodingOf([first, second]: Uint8Array): Encoding {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}
