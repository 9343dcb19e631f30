// The SQL statements of a node leader.
import { sql, type RawBuilder } from "kysely";
import { statement, type Executor } from "../../../lib/database/database.ts";
import type { CallingWindow } from "../../../accounts/accounts/calling-window.ts";
import type { App } from "../../../engine/app.ts";
import type { Lease } from "../../../engine/leases.ts";
import type { Call, Stage } from "../../state-machine/call.ts";
import { readCall } from "../../state-machine/read-call.ts";
import type { TrunkLine } from "../dialer/trunk-line.ts";

/** A trunk with its limits on the node. */
export type TrunkShare = TrunkLine & {
  readonly updated_at: string;
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
  readonly trunks: readonly TrunkShare[];
  readonly has_live_calls: boolean;
  /** How to reach the switch. */
  readonly connection: string;
};

/** The node's limits, and for what its leader has to look. */
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
  const trunks = (dataOf("trunk") as TrunkShare[]).toSorted((one, other) => one.id - other.id);
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
  select 'node' as kind, to_json(n) as data
  from (
    select v.calls_per_second, v.calls_max, v.active, v.ari_url, v.ari_user, v.ari_password, v.ari_app, v.cdr_path,
      v.sounds_dir,
      exists (select from calls c where c.node_id = $1 and c.stage not in ('queued', 'ended')) as has_live_calls
    from voice_nodes v where v.id = $1) n
  union all
  select 'trunk', to_json(t)
  from (
    select t.id, t.endpoint, t.number_format, t.number_prefix, t.destinations, t.updated_at,
      t.only_account_id, coalesce(s.calls_per_second, 1) as calls_per_second,
      coalesce(s.calls_max, 0) as calls_max
    from trunks t
    left join trunk_nodes s on s.trunk_id = t.id and s.node_id = $1
    where s.node_id is not null or t.id in (
      select c.trunk_id from calls c where c.node_id = $1 and c.stage not in ('queued', 'ended'))) t
  union all
  (select 'calls', null from calls
    where node_id = $1 and stage = 'queued' and due_at <= $2 order by due_at limit 1)
  union all
  (select 'commands', null from call_commands where node_id = $1 limit 1)
  union all
  (select 'campaigns', null from voice_campaigns
    where trunk_id in (select s.trunk_id from trunk_nodes s where s.node_id = $1)
      and state = 'running' order by trunk_id limit 1)`);

/** Finds the switch's epoch that was last reconciled, and when the switch was last seen. */
export async function findLastSeen(
  app: App,
  nodeId: number,
): Promise<{ readonly epoch: string | null; readonly last_seen_at: Date | null }> {
  return app.db.query
    .selectFrom("voice_nodes")
    .select(["epoch", "last_seen_at"])
    .where("id", "=", nodeId)
    .executeTakeFirstOrThrow();
}

/** Sets the time when the switch was last seen to now. */
export async function recordSeen(app: App, nodeId: number): Promise<void> {
  await app.db.query
    .updateTable("voice_nodes")
    .set({ last_seen_at: app.clock.now() })
    .where("id", "=", nodeId)
    .execute();
}

/** Records that the node is connected; like the next two, has no effect without the node's lease. */
export async function recordConnection(
  app: App,
  lease: Lease,
  nodeId: number,
  epoch: string,
): Promise<void> {
  const now = app.clock.now();
  const set = sql`connected_at = ${now}, last_seen_at = ${now}, lost_at = null, epoch = ${epoch}`;
  await updateNode(app, lease, nodeId, set);
}

/** Records that the node is not connected, and when it was last in contact; null: it was not, since recorded. */
export async function recordDisconnection(
  app: App,
  lease: Lease,
  nodeId: number,
  lastSeenAt: Date | null,
): Promise<void> {
  const seen = sql`greatest(n.last_seen_at, ${lastSeenAt}::timestamptz)`;
  await updateNode(app, lease, nodeId, sql`connected_at = null, last_seen_at = ${seen}`);
}

/** Records that the node is lost. */
export async function recordLoss(app: App, lease: Lease, nodeId: number): Promise<void> {
  await updateNode(app, lease, nodeId, sql`lost_at = coalesce(n.lost_at, ${app.clock.now()})`);
}

async function updateNode(
  app: App,
  { account_id, name, fence }: Lease,
  nodeId: number,
  set: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    update voice_nodes n set ${set}
    where n.id = ${nodeId} and exists (
      select from leases l
      where l.account_id = ${account_id} and l.name = ${name} and l.fence = ${fence})
  `.execute(app.db.query);
}

/** Finds accounts with due calls on the node, the longest waiting first. */
export const findWaiting = statement<{ account_id: number }>(`
  select account_id from calls
  where node_id = $1 and stage = 'queued' and due_at <= $2
  group by account_id order by min(due_at) limit 1000`);

const findLiveAccounts = statement<{ account_id: number }>(`
  select distinct account_id from calls
  where node_id = $1 and stage not in ('queued', 'ended')`);

const adoptCalls = statement<{ call: unknown }>(
  "select call from adopt_calls($1, $2, $3, $4) as t(call)",
);

/**
 * Adopts the node's live calls under this fencing token, except `known`: calls of previous node leaders, also
 * those that one claimed before it noticed the loss of its lease.
 */
export async function adoptCallsOfNode(
  db: Executor,
  nodeId: number,
  fence: number,
  known: readonly Pick<Call, "account_id" | "id">[],
): Promise<Call[]> {
  const adopted: Call[] = [];
  for (const { account_id } of await findLiveAccounts(db, [nodeId])) {
    const ids = known.filter((call) => call.account_id === account_id).map(({ id }) => id);
    const rows = await adoptCalls(db, [account_id, nodeId, fence, ids]);
    adopted.push(...rows.map(({ call }) => readCall(call)));
  }
  return adopted;
}

const selectClaimedCalls = statement<Omit<Claimed, "call"> & { readonly call: unknown }>(
  "select call, suppressed, customer_taken, customer_limited, cap from claim_calls($1, $2, $3, $4, $5, $6)",
);

export type Claimed = {
  readonly call: Call;
  readonly suppressed: boolean;
  /** The customer is on another live call. */
  readonly customer_taken: boolean;
  /** The customer was called as often as the account allows in a day. */
  readonly customer_limited: boolean;
  /** The operator's cap that its legs would exceed; null: none. */
  readonly cap: "account" | "token" | "number" | null;
};

/** Claims up to `take` due calls of the account over the trunk. */
export async function claimCalls(
  db: Executor,
  of: { account_id: number; node_id: number; trunk_id: number; fence: number; take: number },
  now: Date,
): Promise<Claimed[]> {
  const { account_id, node_id, trunk_id, fence, take } = of;
  const rows = await selectClaimedCalls(db, [account_id, node_id, trunk_id, fence, take, now]);
  return rows.map((row) => ({ ...row, call: readCall(row.call) }));
}

/** A campaign with due recipients. */
export type DialableCampaign = CallingWindow & {
  readonly account_id: number;
  readonly campaign_id: number;
  readonly trunk_id: number;
  readonly is_test: boolean;
  /** The distinct lists of zones that due recipients may be in, joined by `&`. */
  readonly due_time_zones: readonly string[];
};

/** Finds campaigns over these trunks with due recipients, round robin by account, test calls first. */
export const findDialable = statement<DialableCampaign>(
  `select account_id, campaign_id, trunk_id, is_test, due_time_zones, time_zone, night_calling,
    calling_from::text as calling_from, calling_to::text as calling_to
  from find_dialable($1, $2)`,
);

const selectClaimedRecipients = statement<{ call: unknown }>(
  "select call from claim_recipients($1, $2, $3, $4, $5, $6, $7, $8) as t(call)",
);

/**
 * Claims up to `take` due recipients of the campaign whose zones are in `time_zones`, skips suppressed ones and
 * those at the limit of calls a day, reserves credit and creates their calls. The caller dials the legs at once.
 */
export async function claimRecipients(
  db: Executor,
  of: {
    readonly account_id: number;
    readonly campaign_id: number;
    readonly node_id: number;
    readonly fence: number;
    readonly take: number;
    readonly caller_id: string;
    readonly time_zones: readonly string[];
  },
  now: Date,
): Promise<Call[]> {
  const { account_id, campaign_id, node_id, fence, take, caller_id, time_zones } = of;
  const values = [account_id, campaign_id, node_id, fence, take, caller_id, time_zones, now];
  const rows = await selectClaimedRecipients(db, values);
  return rows.map(({ call }) => readCall(call));
}

const findOpen = statement<{ open: boolean }>(`
  select exists (
    select from voice_campaigns v
    where v.account_id = $1 and v.id = $2 and v.state = 'running'
      and not exists (
        select from voice_holds h where h.account_id = $1 and h.campaign_id = $2)) as open`);

/** Whether the campaign is running and not paused. */
export async function isCampaignOpen(
  db: Executor,
  { account_id, campaign_id }: Pick<Call, "account_id" | "campaign_id">,
): Promise<boolean> {
  const [row] = await findOpen(db, [account_id, campaign_id]);
  return row!.open;
}

const topUpCall = statement<{ done: boolean }>("select top_up_call($1, $2, $3, $4, $5) as done");

/** Reserves credit for the call; false if insufficient. Fails with TL001 if another leader owns the call. */
export async function reserveCredit(
  db: Executor,
  call: Pick<Call, "account_id" | "id">,
  fence: number,
  amount: number,
  now: Date,
): Promise<boolean> {
  const [answer] = await topUpCall(db, [call.account_id, call.id, fence, amount, now]);
  return answer!.done;
}

/** Finds the commands of users for calls on the node, in order, with each call's stage. */
export const findCommands = statement<{
  account_id: number;
  id: number;
  call_id: number;
  kind: "hangup" | "transfer";
  target: string | null;
  stage: Stage;
}>(`
  select m.account_id, m.id, m.call_id, m.kind, m.target, c.stage
  from call_commands m
  join calls c on c.account_id = m.account_id and c.id = m.call_id
  where m.node_id = $1 order by m.account_id, m.id limit 500`);

export const removeCommand = statement(
  "delete from call_commands where account_id = $1 and id = $2",
);
