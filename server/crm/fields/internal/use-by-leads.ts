// Whether leads use an option or a custom field. Looking through millions takes seconds, so it does not delay those who write
// leads; afterwards only those that were written meanwhile are looked at under the workspace's lock.
import { sql, type RawBuilder } from "kysely";
import type { Database, Tx } from "../../../lib/database/database.ts";
import { lockWorkspace } from "../../workspaces/lock-workspace.ts";

type Place = { readonly account_id: number; readonly workspace_id: number };

/** What was looked at: the leads as of this timeline entry. Each later write of a lead adds an entry. */
export type LookedAt = { readonly timeline_id: number };

const page_rows = 20_000;

/**
 * Looks through the workspace's leads; returns null if one matches the condition, which names the lead `l`. Throws
 * not-found.
 */
export async function lookThroughLeads(
  { query }: Database,
  place: Place,
  isUse: RawBuilder<boolean>,
): Promise<LookedAt | null> {
  const { account_id, workspace_id } = place;
  const timeline_id = await query.transaction().execute(async (tx) => {
    // Waits for the leads that are being written, so that those after it have newer entries.
    await lockWorkspace(tx, account_id, workspace_id, "leads");
    const { rows } = await sql<{ id: number }>`
      select coalesce(max(id), 0) as id from lead_timeline where account_id = ${account_id}`.execute(
      tx,
    );
    return rows[0]!.id;
  });
  for (let after = 0; ;) {
    const { rows } = await sql<{ last: number | null; is_used: boolean | null }>`
      select max(l.id) as last, bool_or(${isUse}) as is_used
      from (
        select id, status_id, source_id, priority_id, custom_fields from leads
        where account_id = ${account_id} and workspace_id = ${workspace_id} and id > ${after}
        order by id limit ${sql.lit(page_rows)}) l`.execute(query);
    const { last, is_used } = rows[0]!;
    if (is_used) return null;
    if (last === null) return { timeline_id };
    after = last;
  }
}

/** Returns whether a lead that was written since then matches. The caller has locked the workspace against leads. */
export async function isUsedSince(
  tx: Tx,
  { account_id, workspace_id }: Place,
  isUse: RawBuilder<boolean>,
  { timeline_id }: LookedAt,
): Promise<boolean> {
  const { rows } = await sql`
    select from lead_timeline t
    join leads l on l.account_id = ${account_id} and l.id = t.lead_id
    where t.account_id = ${account_id} and t.id > ${timeline_id} and l.workspace_id = ${workspace_id} and ${isUse}
    limit 1`.execute(tx);
  return rows.length > 0;
}
