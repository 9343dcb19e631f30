// The SQL statements of a node leader.
import { sql, type RawBuilder } from "kysely";
import { statement, type Executor } from "../../../lib/database/database.ts";
import type { CallingWindow } from "../../../accounts/accounts/calling-window.ts";
import type { App } from "../../../engine/app.ts";
import type { Lease } from "../../../engine/leases.ts";
import type { Call, Stage } from "../../state-machine/call.ts";
import { readCall } from "../../state-machine/read-call.ts";

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

// Two statements: Citus refuses one that reads a distributed table and changes a reference table.
async function updateNode(
  app: App,
  { account_id, name, fence }: Lease,
  nodeId: number,
  set: RawBuilder<unknown>,
): Promise<void> {
  await app.db.query.transaction().execute(async (tx) => {
    const held = await tx
      .selectFrom("leases")
      .select("fence")
      .where("account_id", "=", account_id)
      .where("name", "=", name)
      .where("fence", "=", fence)
      .forKeyShare()
      .execute();
    if (held.length > 0)
      await sql`update voice_nodes n set ${set} where n.id = ${nodeId}`.execute(tx);
  });
}

/** Finds the trunks over which accounts have due calls on the node, the longest waiting first. */
export const findWaiting = statement<{ account_id: number; trunk_id: number }>(`
  select account_id, trunk_id from accounts_with_due_calls($1, $2) order by due_at limit 1000`);

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
  /** Its place among the campaigns of its account, test calls first. */
  readonly place: number;
  readonly campaign_id: number;
  readonly trunk_id: number;
  readonly is_test: boolean;
  /** The distinct lists of zones that due recipients may be in, joined by `&`. */
  readonly due_time_zones: readonly string[];
};

const selectDialable = statement<DialableCampaign>(
  `select account_id, place, campaign_id, trunk_id, is_test, due_time_zones, time_zone, night_calling,
    calling_from::text as calling_from, calling_to::text as calling_to
  from find_dialable_campaigns($1, $2, $3, $4, $5)`,
);

/** A campaign's position in the rotation over accounts. */
export type DialPosition = Pick<DialableCampaign, "place" | "account_id">;

/**
 * Finds the next campaigns over these trunks with due recipients, round robin by account, test calls first; fewer than
 * `rows` only if there are no more.
 */
export async function findDialable(
  db: Executor,
  trunkIds: readonly number[],
  { after, rows }: { readonly after: DialPosition; readonly rows: number },
  now: Date,
): Promise<DialableCampaign[]> {
  return selectDialable(db, [trunkIds, now, after.place, after.account_id, rows]);
}

const selectClaimedRecipients = statement<{ call: unknown }>(
  "select call from claim_due_recipients($1, $2, $3, $4, $5, $6, $7, $8, $9) as t(call)",
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
    /** None are claimed if the campaign has moved to another trunk. */
    readonly trunk_id: number;
    readonly node_id: number;
    readonly fence: number;
    readonly take: number;
    readonly caller_id: string;
    readonly time_zones: readonly string[];
  },
  now: Date,
): Promise<Call[]> {
  const { account_id, campaign_id, trunk_id, node_id, fence, take, caller_id, time_zones } = of;
  const values = [
    account_id,
    campaign_id,
    trunk_id,
    node_id,
    fence,
    take,
    caller_id,
    time_zones,
    now,
  ];
  const rows = await selectClaimedRecipients(db, values);
  return rows.map(({ call }) => readCall(call));
}

const reserveCallCredit = statement<{ done: boolean }>(
  "select reserve_call_credit($1, $2, $3, $4, $5) as done",
);

/**
 * Reserves this much more credit than `call.reserved`; false if insufficient. May be repeated. Fails with TL001 if another
 * leader owns the call.
 */
export async function reserveCredit(
  db: Executor,
  call: Pick<Call, "account_id" | "id" | "reserved">,
  fence: number,
  amount: number,
  now: Date,
): Promise<boolean> {
  const { account_id, id, reserved } = call;
  const [answer] = await reserveCallCredit(db, [account_id, id, fence, reserved + amount, now]);
  return answer!.done;
}

/** A user's command for a call, with the call's stage. */
export type UserCommand = {
  readonly account_id: number;
  readonly id: number;
  readonly call_id: number;
  readonly kind: "hangup" | "transfer";
  readonly target: string | null;
  readonly stage: Stage;
};

/** Finds the commands of users for calls on the node, in order, except those with the IDs in `$2`. */
export const findCommands = statement<UserCommand>(`
  select m.account_id, m.id, m.call_id, m.kind, m.target, c.stage
  from call_commands m
  join calls c on c.account_id = m.account_id and c.id = m.call_id
  where m.node_id = $1 and m.id <> all ($2) order by m.account_id, m.id limit 500`);

export const removeCommand = statement(
  "delete from call_commands where account_id = $1 and id = $2",
);
