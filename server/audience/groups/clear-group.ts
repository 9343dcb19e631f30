import type { App } from "../../engine/app.ts";
import { runBatches, type Job } from "../../engine/work-jobs.ts";
import { statement } from "../../lib/database/database.ts";

/** Members per statement. */
const batch_members = 2_000;

/**
 * The job audience.clear_group: deletes the members of a deleted group in batches, then the group. When stopped, or
 * after `ms_max`, it continues in its next run.
 */
export async function clearGroup(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
  stopping: AbortSignal,
  ms_max?: number,
): Promise<{ again_at: Date } | void> {
  const group_id = Number(subject);
  const next = (after: string) => clearMembers(app, { account_id, group_id, after });
  if (!(await runBatches("", next, stopping, ms_max))) return { again_at: app.clock.now() };
  await deleteCleared(app.db.pool, [account_id, group_id]);
}

/**
 * Deletes the next batch and returns its last phone key; undefined: there was none. Continues behind the last batch,
 * because deleted rows stay in the index until vacuum.
 */
function clearMembers(
  app: App,
  at: { readonly account_id: number; readonly group_id: number; readonly after: string },
): Promise<string | undefined> {
  const { account_id, group_id, after } = at;
  return app.db.query.transaction().execute(async (tx) => {
    // First, as the other writers of members do.
    if ((await lockDeleted(tx, [account_id, group_id])).length === 0) return undefined;
    const next = await findMembers(tx, [account_id, group_id, after, batch_members]);
    await deleteMembers(tx, [account_id, next.map(({ id }) => id)]);
    return next.at(-1)?.phone_key;
  });
}

const lockDeleted = statement(`
  select from groups
  where account_id = $1 and id = $2 and deleted_at is not null for no key update`);

const findMembers = statement<{ id: number; phone_key: string }>(`
  select id, phone_key from group_members
  where account_id = $1 and group_id = $2 and phone_key > $3
  order by phone_key limit $4`);

const deleteMembers = statement(
  "delete from group_members where account_id = $1 and id = any ($2::bigint[])",
);

// Also deletes the members that a process of an earlier version may have added since.
const deleteCleared = statement(
  "delete from groups where account_id = $1 and id = $2 and deleted_at is not null",
);
