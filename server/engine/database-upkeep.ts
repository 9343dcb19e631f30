// What keeps the database fast, besides its own autovacuum.
import { statement } from "../lib/database/database.ts";
import type { App } from "./app.ts";

/**
 * Deletes a batch of leases that were released a day ago or earlier and returns their number. Keeps expired leases
 * that were not released, except those of pools: they show that work was interrupted. A deleted lease's next fencing token is above its
 * last, unless the database's clock has been set back by more than a day.
 */
export async function purgeLeases({ db }: Pick<App, "db">): Promise<number> {
  let deleted = 0;
  for (const { account_id, names } of await findOld(db.pool, [1_000]))
    deleted += (await deleteOld(db.pool, [account_id, names])).length;
  return deleted;
}

const isOld = `
  (holder is null or account_id = 0 and starts_with(name, 'pool:')) and expires_at < now() - interval '1 day'`;

const findOld = statement<{ account_id: number; names: string[] }>(`
  select account_id, array_agg(name) as names
  from (select account_id, name from leases where ${isOld} limit $1) old group by account_id`);

const deleteOld = statement(`
  delete from leases where account_id = $1 and name = any ($2) and ${isOld} returning 1`);

/** Fewer rows are read as fast by any index. */
const unknown_rows_min = 1_000;

/**
 * Analyzes tables that PostgreSQL knows nothing of and returns their number. Autovacuum does so too, but up to two minutes
 * later: until then, indexes that share their first columns look equally good, and at 35,000 contacts each new lead
 * read all contacts of its workspace. A table that the service does not own is left to autovacuum.
 */
export async function analyzeNewTables({ db }: Pick<App, "db">): Promise<number> {
  const tables = await findUnknown(db.pool, [unknown_rows_min]);
  for (const { name } of tables) await db.pool.query(`analyze (skip_locked) ${name}`);
  return tables.length;
}

const findUnknown = statement<{ name: string }>(`
  select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables
  where schemaname = current_schema() and n_live_tup >= $1 and last_analyze is null and last_autoanalyze is null`);
