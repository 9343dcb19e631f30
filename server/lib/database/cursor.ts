import { invalidField } from "../errors.ts";

/** An opaque keyset cursor: where the page before ended. */
function encodeCursor(id: number): string {
  return Buffer.from(String(id)).toString("base64url");
}

/** The id in a cursor of ours, or 422 on `cursor`. */
export function decodeCursor(cursor: string): number {
  const id = Number(Buffer.from(cursor, "base64url").toString());
  if (!Number.isSafeInteger(id) || encodeCursor(id) !== cursor) {
    throw invalidField("cursor", "is not a cursor of this list");
  }
  return id;
}

/** A page out of limit + 1 rows: the extra row only tells that there are more. */
export function page<Row extends { id: number }>(
  rows: Row[],
  limit: number,
): { rows: Row[]; next: string | null } {
  if (rows.length <= limit) return { rows, next: null };
  const kept = rows.slice(0, limit);
  return { rows: kept, next: encodeCursor(kept.at(-1)!.id) };
}
