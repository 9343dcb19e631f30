// Fills a database with one heavy account and many small ones, to show what a statement reads at depth.
import type pg from "pg";

/** IDs of existing rows of the heavy account. */
export type HeavyAccount = {
  readonly account_id: number;
  readonly owner_id: number;
  readonly workspace_id: number;
  readonly chat_number_id: number;
  readonly template_id: number;
  readonly node_id: number;
  readonly trunk_id: number;
};

export type Depth = {
  /** The leads of the heavy account, and the leads that audit entries and leases follow. */
  readonly rows: number;
  /** Its chat recipients and events; calls and deliveries follow in proportion. Default: as many as leads. */
  readonly messages?: number;
  /** Each has its own workspace with picklists, and 100 rows of the large tables. */
  readonly small_accounts: number;
};

/** Rows of each large table in a small account. */
const small_rows = 100;
const campaign_recipients = 30_000;
/** The oldest rows, which alone match some filters. */
const old_rows = 60;

/**
 * Fills the heavy account with `rows` leads of 0.6 as many contacts, a tenth as many audit entries and leases,
 * `messages` recipients of finished campaigns, events, a tenth as many deliveries, and a quarter as many calls with their legs, events and
 * ledger rows, over the last 90 days. Some filters match only the oldest rows: the last option of a picklist, an
 * agent, failed deliveries and their type, an action with its user and subject, a reference and a group of calls. Rows
 * are inserted without triggers, over all connections at once, and are not analyzed.
 */
export async function fillDepth(
  connections: readonly [pg.Client, ...pg.Client[]],
  heavy: HeavyAccount,
  depth: Depth,
): Promise<void> {
  const [db] = connections;
  for (const one of connections) await one.query("set session_replication_role = replica");
  await fillAccount(connections, heavy, depth.rows, depth.messages);
  const { rows } = await db.query<{ account_id: string; workspace_id: string }>(small_accounts, [
    depth.small_accounts,
  ]);
  for (const row of rows) {
    const [account_id, workspace_id] = [Number(row.account_id), Number(row.workspace_id)];
    await db.query(options, [account_id, workspace_id, heavy.account_id, heavy.workspace_id]);
    await fillAccount([db], { ...heavy, account_id, workspace_id }, small_rows);
  }
  for (const one of connections) await one.query("set session_replication_role = origin");
}

/** Fills an account with leads of 0.6 as many contacts, over the last 90 days. */
export async function fillLeads(db: pg.Client, of: LeadOwner, rows: number): Promise<void> {
  for (const [text, values] of leadInserts(of, rows)) await db.query(text, values);
}

type LeadOwner = Pick<HeavyAccount, "account_id" | "owner_id" | "workspace_id">;

type Insert = readonly [text: string, values: unknown[]];

function leadInserts({ account_id, owner_id, workspace_id }: LeadOwner, rows: number): Insert[] {
  return [
    [contacts, [account_id, workspace_id, rows]],
    [leads, [account_id, workspace_id, owner_id, rows]],
  ];
}

async function fillAccount(
  connections: readonly pg.Client[],
  of: HeavyAccount,
  rows: number,
  messages = rows,
): Promise<void> {
  const { account_id, owner_id } = of;
  // The inserts of a chain need the rows of those before them; the longest chain comes first.
  const chains: Insert[][] = [
    [
      [campaigns, [account_id, of.chat_number_id, of.template_id, owner_id, messages]],
      [recipients, [account_id, messages]],
      [captures, [account_id]],
    ],
    [
      [call_campaigns, [account_id, owner_id, messages / 4]],
      [calls, [account_id, of.node_id, of.trunk_id]],
      [click_to_calls, [account_id]],
      [legs, [account_id]],
      [call_events, [account_id]],
      [call_reservations, [account_id]],
      [call_transfers, [account_id]],
    ],
    [
      [events, [account_id, messages]],
      [deliveries, [account_id]],
    ],
    [
      ...leadInserts(of, rows),
      [audit_entries, [account_id, owner_id, rows / 10]],
      [leases, [account_id, rows / 10]],
    ],
  ];
  const takeChains = async (db: pg.Client) => {
    for (let chain = chains.shift(); chain; chain = chains.shift())
      for (const [text, values] of chain) await db.query(text, values);
  };
  await Promise.all(connections.map(takeChains));
}

const began = "date_trunc('hour', now()) - interval '90 days'";
/** The time of the n-th of `rows`. */
const at = (rows: string) => `${began} + n * (interval '89 days' / ${rows})`;

const small_accounts = `
  with made as (
    insert into accounts (name, created_at, updated_at)
    select 'small ' || n, now(), now() from generate_series(1, $1::int) n returning account_id
  )
  insert into workspaces (account_id, name, created_at, updated_at)
  select account_id, 'Sales', now(), now() from made returning account_id, id as workspace_id`;

/** Copies the heavy account's picklists: their share of all options misled the planner. */
const options = `
  insert into picklist_options
    (account_id, workspace_id, picklist, value, label, position, is_default, created_at, updated_at)
  select $1, $2, picklist, value, label, position, is_default, now(), now()
  from picklist_options where account_id = $3 and workspace_id = $4`;

const contacts = `
  insert into contacts (account_id, workspace_id, phone, phone_e164, name, created_at, updated_at)
  select $1, $2, (6000000000 + n)::text, '+91' || 6000000000 + n, 'Person ' || n, ${at("$3::int")}, now()
  from generate_series(1, $3::int * 6 / 10) n`;

/** The last option only on the oldest leads. */
const optionOf = (all: string) =>
  `${all}[case when n <= ${old_rows} then cardinality(${all}) else 1 + n % (cardinality(${all}) - 1) end]`;

const leads = `
  with of_account as (
    select min(id) as first, count(*) as contacts from contacts where account_id = $1
  ), options as (
    select
      array_agg(id order by position) filter (where picklist = 'status') as statuses,
      array_agg(id order by position) filter (where picklist = 'source') as sources,
      array_agg(id order by position) filter (where picklist = 'priority') as priorities
    from picklist_options where account_id = $1 and workspace_id = $2
  )
  insert into leads (account_id, workspace_id, contact_id, name, email, phone, phone_e164, assigned_agent_id,
    status_id, source_id, priority_id, custom_fields, created_by, created_at, updated_at)
  select $1, $2, c.id, 'Person ' || n, 'person' || n || '@example.com', c.phone, c.phone_e164,
    case when n <= ${old_rows} then $3::bigint end,
    ${optionOf("statuses")}, ${optionOf("sources")}, ${optionOf("priorities")}, '{}', $3, ${at("$4::int")}, now()
  from options, of_account a, generate_series(1, $4::int) n
  join contacts c on c.account_id = $1 and c.id = (select first + n % contacts from of_account)`;

const campaigns = `
  with paid as (
    insert into credit_reservations (account_id, kind, subject, created_at, closed_at)
    select $1, 'chat', 'chat_campaign:depth' || n, now(), now()
    from generate_series(1, greatest($5::int / ${campaign_recipients}, 2)) n returning id
  ), reserved as (
    insert into credit_transfers
      (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
    select $1, 'chat', 'reserve', 'available', 'reserved', ${campaign_recipients}, id, now() from paid
  )
  insert into chat_campaigns (account_id, name, chat_number_id, template_id, plan, state, total, trimmed,
    mm_lite, reservation_id, work_at, created_by, created_at, started_at, finished_at)
  select $1, 'Depth ' || n, $2, $3, '{}', 'completed', ${campaign_recipients}, '{}', '{}', id, t, $4, t, t, t
  from (select id, row_number() over (order by id) as n, count(*) over () as many from paid) p
  cross join lateral (select ${at("p.many")} as t) t order by id`;

const recipients = `
  with of_account as (
    select min(id) as first, count(*) as many from chat_campaigns where account_id = $1
  )
  insert into chat_recipients (account_id, campaign_id, phone, variables, state, dispatches, charged,
    provider_message_id, error, error_code, dispatched_at, accepted_at, sent_at, delivered_at, read_at, ended_at)
  select $1, a.first + n * a.many / ($2::int + 1), 916000000000 + n, '{"1": "Asha"}',
    case n % 20 when 0 then 'skipped' when 1 then 'undelivered' when 2 then 'sent' when 3 then 'delivered'
      else 'read' end,
    1, n % 20 > 1, 'wamid.' || md5(n::text), case when n % 20 < 2 then 'undeliverable' end, null, t, t, t,
    case when n % 20 > 2 then t end, case when n % 20 > 3 then t end, case when n % 20 < 2 then t end
  from of_account a, generate_series(1, $2::int) n
  cross join lateral (select ${at("$2::int")} as t) t`;

/** A capture for every other recipient. */
const captures = `
  insert into credit_transfers
    (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
  select $1, 'chat', 'capture', 'reserved', 'spent', 1, c.reservation_id, r.dispatched_at
  from chat_recipients r join chat_campaigns c on c.account_id = r.account_id and c.id = r.campaign_id
  where r.account_id = $1 and r.id % 2 = 0
  order by r.id`;

const events = `
  with heads as (
    insert into event_heads (account_id, seq) values ($1, $2::int)
    on conflict (account_id) do update set seq = excluded.seq
  )
  insert into events (account_id, seq, type, occurred_at, data)
  select $1, n, 'chat.message.delivered', ${at("$2::int")},
    json_build_object('campaign_id', 1, 'recipient_id', n, 'phone', (916000000000 + n)::text)
  from generate_series(1, $2::int) n`;

const deliveries = `
  with endpoint as (
    insert into callback_endpoints (account_id, kind, url, secret, created_at, updated_at)
    values ($1, 'account', 'http://127.0.0.1:1/depth', '\\x00', now(), now()) returning id
  )
  insert into callback_deliveries (account_id, endpoint_id, event_id, type, seq, state, attempts, due_at,
    created_at, finished_at)
  select $1, p.id, e.id, case when is_old then 'lead.created' else e.type end, e.seq,
    case when is_old then 'failed' else 'delivered' end, 1, e.occurred_at, e.occurred_at, e.occurred_at
  from endpoint p, events e cross join lateral (select e.seq <= 10 * ${old_rows} as is_old) o
  where e.account_id = $1 and e.seq % 10 = 0`;

const audit_entries = `
  insert into audit_entries (account_id, at, user_id, request_id, action, subject_id)
  select $1, ${at("$3::int")}, case when n <= ${old_rows} then $2::bigint else $2::bigint + 1 end, 'req_' || n,
    case when n <= ${old_rows} then 'role.created' else 'click_to_call.submitted' end,
    case when n <= ${old_rows} then '1' else (2 + n)::text end
  from generate_series(1, $3::int) n`;

/** Half of the calls belong to one voice campaign; the others are click-to-calls and a few incoming calls. */
const call_campaigns = `
  insert into call_campaigns (account_id, kind, created_by, created_at)
  select $1, case n when 0 then 'voice' else 'click_to_call' end, $2, ${at("$3::int")}
  from generate_series(0, $3::int / 2) n`;

const calls = `
  with of_account as (
    select id, row_number() over (order by id) - 1 as place, count(*) over () as many
    from call_campaigns where account_id = $1
  ), ordered as (
    select case k when 0 then c.id else (select min(id) from call_campaigns where account_id = $1) end as campaign_id,
      2 * c.place - k as n, 2 * c.many as many
    from of_account c, generate_series(0, 1) k where c.place > 0
  )
  insert into calls (account_id, direction, campaign_id, recipient_id, attempt, node_id, trunk_id, stage, status,
    from_number, to_number, to_phone, due_at, queued_at, initiated_at, ringing_at, answered_at, ended_at,
    disposition, ended_reason, ended_by, ring_seconds, talk_seconds, billed_seconds, cost)
  select $1, case n % 64 when 2 then 'inbound' else 'outbound' end, campaign_id, case n % 2 when 1 then n end, 1, $2, $3, 'ended',
    case when n % 5 < 3 then 'completed' else 'no-answer' end, (100 + n % 50)::text,
    (6000000000 + n)::text, (916000000000 + n)::text, t, t, t, t, case when n % 5 < 3 then t end,
    t + interval '30 s', case when n % 5 < 3 then 'answered' else 'no_answer' end, 'hung_up', 'customer', 5,
    case when n % 5 < 3 then 25 end, case when n % 5 < 3 then 60 else 0 end, (n % 5 < 3)::int
  from ordered cross join lateral (select ${at("many")} as t) t order by n`;

const click_to_calls = `
  insert into click_to_calls (account_id, campaign_id, from_number, to_number, to_phone, policy_applied, reference,
    to_group_id)
  select account_id, campaign_id, from_number, to_number, to_phone, 'hangup',
    case when n <= ${old_rows} then 'old' else 'usual' end, case when n <= ${old_rows} then 2 else 1 end
  from (
    select *, row_number() over (order by id) as n from calls where account_id = $1 and recipient_id is null) c`;

const legs = `
  insert into call_legs (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at,
    ringing_at, answered_at, ended_at, outcome, cause)
  select account_id, id, leg, case leg when 1 then 'agent' else 'customer' end,
    case leg when 1 then from_number else to_phone end, leg = 2, 'ended', status,
    queued_at, ringing_at, answered_at, ended_at, 'hung_up', 16
  from calls, generate_series(1, 2) leg where account_id = $1`;

const call_events = `
  insert into call_events (account_id, call_id, type, at, data)
  select account_id, id, type, queued_at, '{}'
  from calls, unnest(array['initiated', 'ringing', 'ended']) type where account_id = $1`;

const call_reservations = `
  insert into credit_reservations (account_id, kind, subject, created_at, closed_at)
  select account_id, 'call', 'call:' || id, queued_at, ended_at
  from calls where account_id = $1 and recipient_id is null`;

const call_transfers = `
  insert into credit_transfers
    (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
  select r.account_id, 'call', t.type, t.source, t.target, 1, r.id, r.created_at
  from credit_reservations r,
    (values ('reserve', 'available', 'reserved'), ('capture', 'reserved', 'spent')) t (type, source, target)
  where r.account_id = $1 and r.kind = 'call' order by r.id, t.type desc`;

/** Leases of senders and deliverers that ended. */
const leases = `
  insert into leases (account_id, name, fence, expires_at)
  select $1, case n % 2 when 0 then 'chat_sender:' else 'callbacks:' end || n, 1, now() - interval '1 day'
  from generate_series(1, $2::int) n`;
