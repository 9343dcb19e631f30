// Reads what a node leader polls: the operators' limits, and whether calls, commands or campaigns are due.
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import type { TrunkLine } from "../dialer/trunk-line.ts";

/** A trunk with its limits on the node. */
export type NodeTrunk = TrunkLine & {
  /** Null: every account may use it. */
  readonly only_account_id: number | null;
  readonly calls_per_second: number;
  readonly calls_max: number;
};

/** The limits of the node, and its trunks. */
export type NodeLimits = {
  readonly calls_per_second: number;
  readonly calls_max: number;
  readonly active: boolean;
  readonly trunks: readonly NodeTrunk[];
  readonly has_live_calls: boolean;
  /** How to reach the switch. */
  readonly connection: string;
};

/** The node's limits, and which work is due. */
export type NodeState = {
  readonly limits: NodeLimits;
  /** Calls are queued and due. */
  readonly has_calls: boolean;
  readonly has_commands: boolean;
  /** Campaigns are running over the node's trunks. */
  readonly has_campaigns: boolean;
};

/**
 * Reads the polled state of a node, or null if it was deleted. A trunk that was removed from the node keeps its live
 * calls but takes no new ones; an inactive trunk still places calls that were submitted before.
 */
export async function readNodeState(app: App, nodeId: number): Promise<NodeState | null> {
  const rows = await findNodeState(app.db.pool, [nodeId, app.clock.now()]);
  const dataOf = (kind: StateRow["kind"]) =>
    rows.filter((row) => row.kind === kind).map(({ data }) => data);
  const [node] = dataOf("node") as Omit<NodeLimits, "trunks" | "connection">[];
  if (!node) return null;
  const { calls_per_second, calls_max, active, has_live_calls, ...connection } = node;
  const trunks = (dataOf("trunk") as NodeTrunk[]).toSorted((one, other) => one.id - other.id);
  const limits = { calls_per_second, calls_max, active, has_live_calls, trunks };
  return {
    limits: { ...limits, connection: JSON.stringify(connection) },
    has_calls: dataOf("calls").length > 0,
    has_commands: dataOf("commands").length > 0,
    has_campaigns: dataOf("campaigns").length > 0,
  };
}

type StateRow = {
  readonly kind: "node" | "trunk" | "calls" | "commands" | "campaigns";
  readonly data: unknown;
};

const findNodeState = statement<StateRow>(`
  with live as materialized (
    select distinct c.trunk_id from calls c where c.node_id = $1 and c.stage not in ('queued', 'ended')
  )
  select 'node' as kind, to_json(n) as data
  from (
    select v.calls_per_second, v.calls_max, v.active, v.ari_url, v.ari_user, v.ari_password, v.ari_app, v.cdr_path,
      v.sounds_dir,
      exists (select from live) as has_live_calls
    from voice_nodes v where v.id = $1) n
  union all
  select 'trunk', to_json(t)
  from (
    select t.id, t.endpoint, t.number_format, t.number_prefix, t.destinations, t.only_account_id,
      coalesce(s.calls_per_second, 1) as calls_per_second,
      coalesce(s.calls_max, 0) as calls_max
    from trunks t
    left join trunk_nodes s on s.trunk_id = t.id and s.node_id = $1
    where s.node_id is not null or t.id in (select l.trunk_id from live l)) t
  union all
  (select 'calls', null from calls
    where node_id = $1 and stage = 'queued' and due_at <= $2 order by due_at limit 1)
  union all
  (select 'commands', null from call_commands where node_id = $1 limit 1)
  union all
  (select 'campaigns', null from voice_campaigns
    where trunk_id in (select s.trunk_id from trunk_nodes s where s.node_id = $1)
      and state = 'running' order by trunk_id limit 1)`);
