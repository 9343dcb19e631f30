import { sql, type RawBuilder } from "kysely";
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

/** Like decodeCursor, for a list whose IDs are of 32 bits: an ID beyond them is kept at their end. */
export function decodeIntCursor(cursor: string): number {
  return Math.max(-(2 ** 31), Math.min(decodeCursor(cursor), 2 ** 31 - 1));
}

/** The table that a list reads, under its alias, and the column of the time that orders it. */
export type TimeOrder = {
  readonly table: string;
  readonly alias: string;
  readonly time: string;
};

/**
 * Returns the condition of the rows below the row with the ID, in the order of the time and the ID. The row itself
 * may have been deleted; the next older ID then gives its position.
 */
export function isBelow(
  { table, alias, time }: TimeOrder,
  accountId: number,
  id: number,
): RawBuilder<boolean> {
  const at = sql.ref(`b.${time}`);
  return sql<boolean>`(${sql.ref(`${alias}.${time}`)}, ${sql.ref(`${alias}.id`)}) <
    ((select ${at} from ${sql.table(table)} b
        where b.account_id = ${accountId} and b.id <= ${id} order by b.id desc limit 1),
      ${id}::bigint)`;
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
