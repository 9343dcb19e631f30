import { invalidField } from "../errors.ts";

/** Encodes an opaque keyset cursor: the end of the previous page. */
function encodeCursor(id: number): string {
  return Buffer.from(String(id)).toString("base64url");
}

/** Returns the ID in a cursor; 422 on `cursor` if it is invalid. */
export function decodeCursor(cursor: string): number {
  const id = Number(Buffer.from(cursor, "base64url").toString());
  if (!Number.isSafeInteger(id) || encodeCursor(id) !== cursor) {
    throw invalidField("cursor", "must be a next cursor of this list");
  }
  return id;
}

/** Builds a page from up to limit + 1 rows: the extra row shows that there are more. */
export function page<Row extends { id: number }>(
  rows: Row[],
  limit: number,
): { rows: Row[]; next: string | null } {
  if (rows.length <= limit) return { rows, next: null };
  const kept = rows.slice(0, limit);
  return { rows: kept, next: encodeCursor(kept.at(-1)!.id) };
}
