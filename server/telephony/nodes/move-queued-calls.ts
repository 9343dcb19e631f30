import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";

/** The nodes that queued calls were moved to, with the accounts of these calls. */
export type MovedCalls = readonly { readonly node_id: number; readonly account_id: number }[];

/**
 * Moves the node's queued calls (of one trunk, if given) to another active node of their trunk that has the
 * same driver and is not lost, preferably a connected one; calls without such a node stay. The caller sends
 * `call_work` for each result after the commit.
 */
export async function moveQueuedCalls(
  tx: Tx,
  from: { readonly node_id: number; readonly trunk_id?: number },
): Promise<MovedCalls> {
  const { node_id, trunk_id = null } = from;
  const { rows } = await sql<MovedCalls[number]>`
    with target as materialized (
      select distinct on (s.trunk_id) s.trunk_id, n.id as node_id
      from trunk_nodes s
      join voice_nodes n on n.id = s.node_id and n.active and n.lost_at is null and n.id <> ${node_id}
        and n.driver = (select o.driver from voice_nodes o where o.id = ${node_id})
      where ${trunk_id}::bigint is null or s.trunk_id = ${trunk_id}
      order by s.trunk_id, n.connected_at is null, s.calls_per_second desc, n.id
    ), moved as (
      -- The fencing token of a call that was claimed and given back is of the old node's lease.
      update calls c set node_id = target.node_id, fence = 0
      from target
      where c.node_id = ${node_id} and c.stage = 'queued' and c.trunk_id = target.trunk_id
      returning c.node_id, c.account_id
    )
    select distinct node_id, account_id from moved`.execute(tx);
  return rows;
}
