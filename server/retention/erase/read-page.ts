import { sql } from "kysely";
import type { App } from "../../engine/app.ts";
import type { statement, Tx } from "../../lib/database.ts";

/**
 * Reads a page in the order of an index, whatever the planner believes: of a table that was not
 * analysed yet it would sort all that is left of the account for each page (2.4 million rows for 200,000).
 */
export async function readPage<Row extends object>(
  app: Pick<App, "db">,
  read: ReturnType<typeof statement<Row>>,
  values: unknown[],
): Promise<Row> {
  return app.db.query.transaction().execute(async (tx: Tx) => {
    await sql`select set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true),
      set_config('enable_sort', 'off', true)`.execute(tx);
    const [page] = await read(tx, values);
    return page!;
  });
}
