import { statement } from "../lib/database/database.ts";
import type { App } from "./app.ts";

/** Fewer rows are read as fast by any index. */
const rows_min = 1_000;

/**
 * Analyzes tables that PostgreSQL knows nothing of and returns their number. Autovacuum does so too, but up to two minutes
 * later: until then, indexes that share their first columns look equally good, and at 35,000 contacts each new lead
 * read all contacts of its workspace. A table that the service does not own is left to autovacuum.
 */
export async function analyzeNewTables({ db }: Pick<App, "db">): Promise<number> {
  const tables = await findUnknown(db.pool, [rows_min]);
  for (const { name } of tables) await db.pool.query(`analyze (skip_locked) ${name}`);
  return tables.length;
}

const findUnknown = statement<{ name: string }>(`
  select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables
  where schemaname = current_schema() and n_live_tup >= $1 and last_analyze is null and last_autoanalyze is null`);
