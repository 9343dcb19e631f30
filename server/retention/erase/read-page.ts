import { sql } from "kysely";
import type { App } from "../../engine/app.ts";
import type { statement } from "../../lib/database/database.ts";
import { change_rows } from "./part.ts";

/** Some of an account's rows in the order of their places: which of them are the person's, and where they end. */
export type Page<Place> = {
  readonly found: readonly Place[];
  /** Null when there are none. */
  readonly last: Place | null;
  readonly rows: number;
};

/** What a step does of a page; `next` is null when that was all there is. */
export type Stretch<Place> = { readonly found: readonly Place[]; readonly next: Place | null };

/**
 * Reads a page of at most `rows_max` rows, and of it as many of the person's as a step may change. In the
 * order of an index, whatever the planner believes: of a table that was not analysed yet it would sort
 * all that is left of the account for each page (2.4 million rows for 200,000).
 */
export async function readPage<Place>(
  app: Pick<App, "db">,
  read: ReturnType<typeof statement<Page<Place>>>,
  values: unknown[],
  rows_max: number,
): Promise<Stretch<Place>> {
  const page = await app.db.query.transaction().execute(async (tx) => {
    await sql`select set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true),
      set_config('enable_sort', 'off', true)`.execute(tx);
    const [answer] = await read(tx, values);
    return answer!;
  });
  const found = page.found.slice(0, change_rows);
  if (found.length < page.found.length) return { found, next: found.at(-1)! };
  return { found, next: page.rows < rows_max ? null : page.last };
}
