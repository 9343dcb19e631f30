// The fields of an uploaded campaign: texts that become what JSON would have said.
import { createHash } from "node:crypto";
import { read } from "node:fs";
import { promisify } from "node:util";
import type { TObject } from "typebox";
import { canonicalJson } from "../lib/canonical-json.ts";

/**
 * The fields that the schema knows, as its types; an empty one is omitted. What is no number stays text,
 * for the schema to refuse.
 */
export function bodyOfForm(
  fields: ReadonlyMap<string, string>,
  { properties }: TObject,
): Record<string, unknown> {
  const given = [...fields].filter(
    ([name, text]) => text !== "" && Object.hasOwn(properties, name),
  );
  return Object.fromEntries(
    given.map(([name, text]) => [name, valueOf(properties[name] as { type?: unknown }, text)]),
  );
}

function valueOf({ type }: { readonly type?: unknown }, text: string): unknown {
  const types = new Set([type].flat());
  if (types.has("integer")) return /^-?\d{1,19}$/.test(text.trim()) ? Number(text) : text;
  if (types.has("boolean") && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return text;
}

const read_bytes = 1_048_576;
const readInto = promisify(read);

/** Tells an upload from every other: its fields, and the bytes of its open file. */
export async function digestOfForm(
  fields: ReadonlyMap<string, string>,
  fd: number | null,
): Promise<Buffer> {
  const hash = createHash("sha256").update(canonicalJson(Object.fromEntries(fields)));
  if (fd === null) return hash.digest();
  const buffer = Buffer.allocUnsafe(read_bytes);
  for (let position = 0; ;) {
    const { bytesRead } = await readInto(fd, buffer, 0, buffer.length, position);
    if (bytesRead === 0) return hash.digest();
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
}
