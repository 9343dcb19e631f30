import { statement } from "../lib/database/database.ts";
import type { App } from "./app.ts";

/**
 * Deletes a batch of leases that were released a day ago or earlier and returns their number. Keeps expired leases
 * that were not released, except those of pools: they show that work was interrupted. A deleted lease's next fencing token is above its
 * last, unless the database's clock has been set back by more than a day.
 */
export async function purgeLeases({ db }: Pick<App, "db">): Promise<number> {
  return (await deleteReleased(db.pool, [1_000])).length;
}

const deleteReleased = statement(`
  delete from leases l using (
    select account_id, name from leases
    where (holder is null or account_id = 0 and starts_with(name, 'pool:')) and expires_at < now() - interval '1 day'
    limit $1 for update skip locked) old
  where l.account_id = old.account_id and l.name = old.name returning 1`);
