// Looking into JSON of others: what is not of the expected kind reads as absent.

export type JsonRecord = Readonly<Record<string, unknown>>;

/** The value as an object, or null. */
export function asRecord(value: unknown): JsonRecord | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonRecord)
    : null;
}

/** The objects in a list; empty when it is none. */
export function asRecords(value: unknown): readonly JsonRecord[] {
  if (!Array.isArray(value)) return [];
  return value.map(asRecord).filter((item) => item !== null);
}

/** The value as a text with something in it, or null. */
export function asText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A provider's error code: a whole number of 32 bits, or null. */
export function asCode(value: unknown): number | null {
  return typeof value === "number" && (value | 0) === value ? value : null;
}

const message_id_characters_max = 255;

/** A message's id, or null for what no report could be found by: too long, or text that cannot be stored. */
export function asMessageId(value: unknown): string | null {
  const text = asText(value);
  const isFit =
    text !== null &&
    text.length <= message_id_characters_max &&
    text.isWellFormed() &&
    !text.includes("\0");
  return isFit ? text : null;
}

/** An id as text. A number beyond 2^53 has lost digits on its way and is no id any more. */
export function asId(value: unknown): string | null {
  return Number.isSafeInteger(value) ? String(value) : asText(value);
}
