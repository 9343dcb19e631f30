// The fields of an uploaded campaign: texts that become what JSON would have said.
import { createHash } from "node:crypto";
import { read } from "node:fs";
import { promisify } from "node:util";
import { canonicalJson } from "../lib/canonical-json.ts";

/** The fields of a campaign's form beside its file. */
export const campaign_form_fields = [
  "name",
  "chat_number_id",
  "template_id",
  "flow_id",
  "automation_flow_id",
  "scheduled_at",
  "mm_lite",
  "phone_column",
  "variables",
] as const;

const integers = new Set(["chat_number_id", "template_id", "flow_id"]);
const of_the_file = new Set(["phone_column", "variables"]);

/** The campaign's own fields; an empty one is omitted. What is no number stays text, for the schema to refuse. */
export function headOfForm(fields: ReadonlyMap<string, string>): Record<string, unknown> {
  const given = [...fields].filter(([name, text]) => text !== "" && !of_the_file.has(name));
  return Object.fromEntries(given.map(([name, text]) => [name, valueOf(name, text)]));
}

function valueOf(name: string, text: string): unknown {
  if (integers.has(name)) return /^-?\d{1,19}$/.test(text.trim()) ? Number(text) : text;
  if (name === "mm_lite" && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === "true";
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
