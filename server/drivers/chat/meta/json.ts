// Reads untrusted JSON: a value of an unexpected type reads as absent.

export type JsonRecord = Readonly<Record<string, unknown>>;

/** Returns the value as an object, or null. */
export function asRecord(value: unknown): JsonRecord | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonRecord)
    : null;
}

/** Returns the objects of a list; empty if the value is not a list. */
export function asRecords(value: unknown): readonly JsonRecord[] {
  if (!Array.isArray(value)) return [];
  return value.map(asRecord).filter((item) => item !== null);
}

/** Returns the value as a non-empty text, or null. */
export function asText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** Returns a provider's error code, a 32-bit integer, or null. */
export function asCode(value: unknown): number | null {
  return typeof value === "number" && (value | 0) === value ? value : null;
}

const message_id_characters_max = 255;

/** Returns a message ID, or null if it is too long or cannot be stored, so that no status could be matched to it. */
export function asMessageId(value: unknown): string | null {
  const text = asText(value);
  const isValid =
    text !== null &&
    text.length <= message_id_characters_max &&
    text.isWellFormed() &&
    !text.includes("\0");
  return isValid ? text : null;
}

/** Returns an ID as text; null for a number beyond 2^53, which has lost digits. */
export function asId(value: unknown): string | null {
  return Number.isSafeInteger(value) ? String(value) : asText(value);
}
