// Fills an account with a chat campaign and calls, half of them click-to-calls and half of one voice
// campaign.
import type pg from "pg";

/** IDs of existing rows. */
export type ExistingIds = {
  readonly account_id: number;
  readonly owner_id: number;
  readonly chat_number_id: number;
  readonly template_id: number;
  readonly node_id: number;
  readonly trunk_id: number;
  readonly voice_file_id: number;
};

/** Spreads the rows over the last ten days; returns the chat campaign's ID. */
export async function fillAccount(
  db: pg.Client,
  place: ExistingIds,
  rows: number,
): Promise<number> {
  // Without foreign key checks, because the rows are consistent by construction.
  await db.query("set session_replication_role = replica");
  const { account_id, owner_id, node_id, trunk_id } = place;
  const campaign_id = await addChatCampaign(db, place, rows);
  await db.query(recipients, [account_id, campaign_id, rows]);
  await db.query(replies, [account_id, campaign_id, rows, place.chat_number_id]);
  const { rows: made } = await db.query<{ id: string }>(voice_campaign, [
    account_id,
    owner_id,
    place.voice_file_id,
    trunk_id,
    rows,
  ]);
  const voice_id = made[0]!.id;
  await db.query(call_campaigns, [account_id, owner_id, rows]);
  await db.query(calls, [account_id, voice_id, node_id, trunk_id, rows]);
  await db.query(click_to_calls, [account_id]);
  await db.query(customer_legs, [account_id]);
  await db.query(agent_legs, [account_id]);
  await db.query("set session_replication_role = origin");
  await db.query("vacuum analyze");
  return campaign_id;
}

async function addChatCampaign(db: pg.Client, place: ExistingIds, rows: number): Promise<number> {
  const { account_id, owner_id, chat_number_id, template_id } = place;
  const { rows: made } = await db.query<{ id: string }>(chat_campaign, [
    account_id,
    owner_id,
    chat_number_id,
    template_id,
    rows,
  ]);
  const id = Number(made[0]!.id);
  await db.query(chat_counts, [account_id, id, rows]);
  await db.query(transfers, [account_id, rows]);
  return id;
}

const began = "now() - interval '10 days'";
/** The time of the n-th of `rows`. */
const at = (rows: string) => `${began} + n * (interval '10 days' / ${rows}::int)`;

const chat_campaign = `
  with paid as (
    insert into credit_reservations (account_id, kind, subject, created_at, closed_at)
    values ($1, 'chat', 'chat_campaign:bench', ${began}, now()) returning id
  )
  insert into chat_campaigns (account_id, name, chat_number_id, template_id, plan, state, total, trimmed,
    mm_lite, reservation_id, work_at, created_by, created_at, started_at, finished_at)
  select $1, 'Bench', $3, $4, '{}', 'completed', $5, '{}', '{}', id, now(), $2, ${began}, ${began}, now()
  from paid returning id`;

const chat_counts = `
  insert into chat_counts (account_id, campaign_id, slot, skipped, undelivered, delivered, read)
  select $1, $2, 'inbound', count(*) filter (where n % 20 = 0), count(*) filter (where n % 20 = 1),
    count(*) filter (where n % 20 between 2 and 7), count(*) filter (where n % 20 > 7)
  from generate_series(1, $3::int) n`;

/** One capture for every fifty messages, as a sender makes. */
const transfers = `
  insert into credit_transfers (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
  select $1, 'chat', 'capture', 'reserved', 'spent', 45, r.id, ${at("$2")}
  from generate_series(1, $2::int, 50) n, credit_reservations r
  where r.account_id = $1 and r.subject = 'chat_campaign:bench'`;

const recipients = `
  insert into chat_recipients (account_id, campaign_id, phone, variables, state, dispatches, charged,
    provider_message_id, error, dispatched_at, accepted_at, sent_at, delivered_at, read_at, ended_at)
  select $1, $2, 910000000000 + n, jsonb_build_object('1', 'Person ' || n, '2', 'Pune'),
    case when n % 20 = 0 then 'skipped' when n % 20 = 1 then 'undelivered'
      when n % 20 < 8 then 'delivered' else 'read' end,
    1, n % 20 > 1, 'wamid.HBgMOTE5' || md5(n::text), case when n % 20 < 2 then 'undeliverable' end,
    case when n % 20 > 0 then ${at("$3")} end, ${at("$3")}, ${at("$3")}, ${at("$3")},
    case when n % 20 > 7 then ${at("$3")} end, case when n % 20 < 2 then ${at("$3")} end
  from generate_series(1, $3::int) n`;

/** A reply to every tenth message. */
const replies = `
  insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, type, text, campaign_id,
    opted_out, received_at)
  select $1, $4, 'wamid.reply' || n, 910000000000 + n, 'text', 'yes', $2, n % 100 = 1, ${at("$3")}
  from generate_series(1, $3::int, 10) n`;

const voice_campaign = `
  with campaign as (
    insert into call_campaigns (account_id, kind, created_by, created_at) values ($1, 'voice', $2, ${began})
    returning id
  )
  insert into voice_campaigns (account_id, id, name, call_type, send_to, voice_file_id, trunk_id, plan, state,
    total, created_by, created_at)
  select $1, id, 'Bench', 'obd_voice_call', 'csv', $3, $4, '{}', 'running', $5, $2, ${began}
  from campaign returning id`;

/** Every other call is a click-to-call, each with its own campaign. */
const call_campaigns = `
  insert into call_campaigns (account_id, kind, created_by, created_at)
  select $1, 'click_to_call', $2, ${began} from generate_series(1, $3::int, 2)`;

/** Six of ten calls are answered; in campaigns half of those by a machine. */
const calls = `
  with of_click as (
    select id as campaign_id, row_number() over (order by id) as k from call_campaigns
    where account_id = $1 and kind = 'click_to_call'
  )
  insert into calls (account_id, campaign_id, recipient_id, attempt, node_id, trunk_id, stage, status,
    from_number, to_number, to_phone, due_at, queued_at, initiated_at, ringing_at, answered_at, ended_at,
    disposition, ended_reason, ended_by, answered_by, ring_seconds, talk_seconds, billed_seconds, cost)
  select $1, coalesce(o.campaign_id, $2), case when n % 2 = 0 then n end, 1, $3, $4, 'ended',
    case when n % 10 < 6 then 'completed' when n % 10 < 8 then 'busy' else 'no-answer' end,
    case when n % 2 = 0 then '912240000000' else (100 + n % 50)::text end,
    (9000000000 + n)::text, (919000000000 + n)::text, t, t, t, t,
    case when n % 10 < 6 then t + interval '5 seconds' end, t + interval '30 seconds',
    case when n % 10 < 6 then 'answered' when n % 10 < 8 then 'busy' else 'no_answer' end, 'hung_up',
    'customer', case when n % 4 = 0 then 'machine' else 'human' end, 5,
    case when n % 10 < 6 then 25 end, case when n % 10 < 6 then 60 else 0 end, (n % 10 < 6)::int
  from generate_series(1, $5::int) n
  cross join lateral (select ${at("$5")} as t) t
  left join of_click o on n % 2 = 1 and o.k = (n + 1) / 2
  order by n`;

const click_to_calls = `
  insert into click_to_calls (account_id, campaign_id, from_number, to_number, to_phone, policy_applied,
    reference, remark)
  select account_id, campaign_id, from_number, to_number, to_phone, 'hangup', 'order-' || id, '=VIP ' || id
  from calls where account_id = $1 and recipient_id is null`;

const customer_legs = `
  insert into call_legs (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at,
    ringing_at, answered_at, ended_at, outcome, cause)
  select account_id, id, case when recipient_id is null then 2 else 1 end, 'customer', to_phone, true,
    'ended', status, queued_at, ringing_at, answered_at, ended_at, 'hung_up', 16
  from calls where account_id = $1`;

/** One leg of each click-to-call, and of a tenth of the campaign's calls, which were transferred. */
const agent_legs = `
  insert into call_legs (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at,
    ringing_at, answered_at, ended_at, outcome, cause)
  select account_id, id, case when recipient_id is null then 1 else 2 end,
    case when recipient_id is null then 'agent' else 'transfer' end,
    case when recipient_id is null then from_number else '101' end, false, 'ended', 'completed', queued_at,
    ringing_at, ringing_at, ended_at, 'hung_up', 16
  from calls where account_id = $1 and (recipient_id is null or recipient_id % 10 = 4)`;
