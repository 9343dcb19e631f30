import { sql, type RawBuilder } from "kysely";
import type { App } from "../../server/engine/app.ts";

class Undo extends Error {}

/**
 * Returns how many rows the statements of `work` read from tables, counted by PostgreSQL; rolls back what they
 * changed. `work` must use the given app.
 */
export function rowsRead(app: App, work: (app: App) => Promise<unknown>): Promise<number> {
  return rowsReadFrom(sql`pg_stat_xact_user_tables`, app, work);
}

/** Returns how many chunks of large values, of 2 kB each, the statements of `work` read, as rowsRead does. */
export function chunksRead(app: App, work: (app: App) => Promise<unknown>): Promise<number> {
  const toast = sql`(select * from pg_stat_xact_all_tables where schemaname = 'pg_toast')`;
  return rowsReadFrom(toast, app, work);
}

async function rowsReadFrom(
  counts: RawBuilder<unknown>,
  app: App,
  work: (app: App) => Promise<unknown>,
): Promise<number> {
  let rows = 0;
  const undone = app.db.query.transaction().execute(async (tx) => {
    const count = async () =>
      (
        await sql<{ n: number }>`
          select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int as n from ${counts} t
        `.execute(tx)
      ).rows[0]!.n;
    const before = await count();
    await work({ ...app, db: { ...app.db, query: tx, pool: tx as never } });
    rows = (await count()) - before;
    throw new Undo();
  });
  await undone.catch((err: unknown) => {
    if (!(err instanceof Undo)) throw err;
  });
  return rows;
}
