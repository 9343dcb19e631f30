import { sql } from "kysely";
import type { App } from "../../engine/app.ts";
import type { statement } from "../../lib/database/database.ts";
import { change_rows } from "./part.ts";

/** A page of an account's rows, in the order of an index: the person's rows among them and the last row. */
export type Page<Position> = {
  readonly found: readonly Position[];
  /** Null when there are none. */
  readonly last: Position | null;
  readonly rows: number;
  /** Whether it has fewer rows than there are because their texts are long. */
  readonly is_cut?: boolean;
};

/** The rows of a page that one step changes; `next` is null when there are no further rows. */
export type StepRows<Position> = {
  readonly found: readonly Position[];
  readonly next: Position | null;
};

/**
 * Reads a page of at most `rows_max` rows, and returns as many of the person's as a step may change. Forces an
 * index scan: on a table that was never analyzed, the planner sorted all remaining rows of the account for
 * each page (2.4 million rows for 200,000).
 */
export async function readPage<Position>(
  app: Pick<App, "db">,
  read: ReturnType<typeof statement<Page<Position>>>,
  values: unknown[],
  rows_max: number,
): Promise<StepRows<Position>> {
  const page = await app.db.query.transaction().execute(async (tx) => {
    await sql`select set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true),
      set_config('enable_sort', 'off', true)`.execute(tx);
    const [answer] = await read(tx, values);
    return answer!;
  });
  const found = page.found.slice(0, change_rows);
  if (found.length < page.found.length) return { found, next: found.at(-1)! };
  return { found, next: page.rows < rows_max && !page.is_cut ? null : page.last };
}
