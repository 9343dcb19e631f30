// The invariants of stored data, as SQL over every account of a database. Each check fails with the rows
// that violate it. Within a transaction, it sees the transaction's changes.
import assert from "node:assert/strict";
import type pg from "pg";
import { countOfState, recipientStates } from "../../server/chat/recipients/recipient-states.ts";
import { recipient_states as voiceStates } from "../../server/voice/campaigns/campaign-record-schema.ts";

type Queryable = Pick<pg.ClientBase, "query">;

/** Checks: ledger accounts sum to zero, balances match the ledger, reservations are not exceeded. */
export async function checkLedger(db: Queryable): Promise<void> {
  await checkLedgerAccounts(db);
  await checkCreditBalances(db);
  await checkCreditReservations(db);
}

/** Checks that the ledger accounts of each account and kind sum to zero, and that only `issued` is negative. */
async function checkLedgerAccounts(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "ledger accounts that do not sum to zero",
    `select account_id, kind, json_object_agg(ledger_account, amount) as ledger_accounts
     from (
       select account_id, kind, ledger_account, sum(amount) as amount
       from (
         select account_id, kind, from_ledger_account as ledger_account, -amount as amount from credit_transfers
         union all
         select account_id, kind, to_ledger_account, amount from credit_transfers
       ) movement
       group by 1, 2, 3
     ) b
     group by 1, 2
     having sum(amount) <> 0 or bool_or(amount < 0 and ledger_account <> 'issued')`,
  );
}

/** Checks that each balance equals the available credit of the ledger. */
async function checkCreditBalances(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "balances that differ from the ledger",
    `select account_id, kind, b.available as balance, l.available as ledger
     from credit_balances b
     full join (
       select account_id, kind,
         sum(case when to_ledger_account = 'available' then amount else 0 end)
           - sum(case when from_ledger_account = 'available' then amount else 0 end) as available
       from credit_transfers group by 1, 2
     ) l using (account_id, kind)
     where coalesce(b.available, 0) <> coalesce(l.available, 0)`,
  );
}

/** Checks that a reservation captures and releases at most what it reserved and refunds at most what it captured. */
async function checkCreditReservations(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "reservations whose transfers do not match",
    `select r.account_id, r.id, r.subject, r.closed_at, s.*
     from credit_reservations r
     cross join lateral (
       select
         r.folded_reserved + coalesce(sum(amount) filter (where type = 'reserve'), 0) as reserved,
         r.folded_captured + coalesce(sum(amount) filter (where type = 'capture'), 0) as captured,
         r.folded_released + coalesce(sum(amount) filter (where type = 'release'), 0) as released,
         r.folded_refunded + coalesce(sum(amount) filter (where type = 'refund'), 0) as refunded,
         count(*) filter (where t.kind <> r.kind) as of_another_kind
       from credit_transfers t where t.account_id = r.account_id and t.reservation_id = r.id
     ) s
     where reserved = 0 or reserved < captured + released or captured < refunded
       or of_another_kind > 0 or (closed_at is not null and reserved <> captured + released)`,
  );
}

/** Checks for voice: the total and the counts by state match the recipients. */
export async function checkVoiceCampaigns(db: Queryable): Promise<void> {
  const sums = voiceStates.map((state) => `sum(${state}) as ${state}`).join(", ");
  const counted = voiceStates.map(
    (state) => `count(*) filter (where state = '${state}') as ${state}`,
  );
  const differs = voiceStates.map((state) => `coalesce(r.${state}, 0) <> coalesce(k.${state}, 0)`);
  await assertNone(
    db,
    "voice campaigns whose counts do not match their recipients",
    `select v.account_id, v.id, v.total, r.*, k.*
     from voice_campaigns v
     cross join lateral (select count(*) as recipients, ${counted.join(", ")} from voice_recipients r
       where r.account_id = v.account_id and r.campaign_id = v.id) r
     cross join lateral (select ${sums} from voice_counts k
       where k.account_id = v.account_id and k.campaign_id = v.id) k
     -- A campaign with purged recipients has only its counts.
     where v.purged_at is null and (v.total <> r.recipients or ${differs.join(" or ")})`,
  );
  await checkVoiceAttempts(db);
}

/** Checks for voice: no recipient was dialed more often than retries, manual ones too, and callbacks allow. */
async function checkVoiceAttempts(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "recipients who were dialed too often",
    `select r.account_id, r.campaign_id, r.id, r.attempts, n.dialed, v.max_retry, r.callbacks
     from voice_recipients r
     join voice_campaigns v on v.account_id = r.account_id and v.id = r.campaign_id
     join (
       select c.account_id, c.campaign_id, c.recipient_id, count(*)::int as dialed from calls c
       where c.recipient_id is not null
         and not (c.disposition is not distinct from 'canceled' and c.ringing_at is null and c.cost = 0)
       group by 1, 2, 3) n
       on n.account_id = r.account_id and n.campaign_id = r.campaign_id and n.recipient_id = r.id
     where n.dialed > 1 + v.max_retry + r.callbacks + r.retries or n.dialed > r.attempts`,
  );
}

/** Citus refuses some of the queries, which read all accounts: there, those prove nothing. */
async function assertNone(db: Queryable, what: string, query: string): Promise<void> {
  const refused = { rows: [] };
  const { rows } = await db.query<Record<string, unknown>>(query).catch((error: unknown) => {
    const isRefused = (error as { code?: unknown }).code === "0A000";
    if (isRefused && process.env["CITUS_TEST_URLS"]) return refused;
    throw error;
  });
  assert.deepEqual(rows, [], what);
}

/** Checks all invariants of chat campaigns when no sender is running. */
export async function checkCampaigns(db: Queryable): Promise<void> {
  await checkCampaignCounts(db);
  await checkProviderIds(db);
  await checkCampaignCredits(db);
  await checkNothingDispatching(db);
  await checkMessageReports(db);
}

/** Checks what always holds: a campaign's counts match its recipients by state and sum to its total. */
export async function checkCampaignCounts(db: Queryable): Promise<void> {
  const counted = recipientStates.map((state) => `coalesce(sum(${state}), 0)::int as ${state}`);
  const found = recipientStates.map(
    (state) => `count(*) filter (where state = '${state}')::int as ${state}`,
  );
  const all = recipientStates.map((state) => `n.${state}`).join(" + ");
  await assertNone(
    db,
    "campaigns whose counts do not match their recipients",
    `select c.account_id, c.id, c.total, row_to_json(n) as counted, row_to_json(r) as recipients
     from chat_campaigns c
     cross join lateral (
       select ${counted.join(", ")} from chat_counts
       where account_id = c.account_id and campaign_id = c.id) n
     cross join lateral (
       select ${found.join(", ")} from chat_recipients
       where account_id = c.account_id and campaign_id = c.id) r
     -- A campaign with purged recipients has only its counts.
     where (c.purged_at is null and row(n.*) is distinct from row(r.*)) or ${all} <> c.total`,
  );
}

/** Checks: accepted messages have the provider's message ID, and no two recipients share one. */
export async function checkProviderIds(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "accepted recipients without the provider's message ID",
    `select account_id, campaign_id, id, state from chat_recipients
     where state in ('accepted', 'sent', 'delivered', 'read') and provider_message_id is null`,
  );
  await assertNone(
    db,
    "provider message IDs of several recipients",
    `select account_id, provider_message_id, count(*)::int from chat_recipients
     where provider_message_id is not null
     group by 1, 2 having count(*) > 1`,
  );
}

/**
 * Checks for chat: a campaign reserved one credit per recipient and retry, paid one per charged recipient and
 * reserves one per uncharged pending recipient.
 */
export async function checkCampaignCredits(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "campaigns whose credit does not match their recipients",
    `select c.account_id, c.id, c.state, c.total, t.*, r.*
     from chat_campaigns c
     left join credit_reservations v on v.account_id = c.account_id and v.id = c.reservation_id
     cross join lateral (
       select
         (coalesce(v.folded_reserved, 0) + coalesce(sum(amount) filter (where type = 'reserve'), 0))::int as reserved,
         (coalesce(v.folded_captured, 0) + coalesce(sum(amount) filter (where type = 'capture'), 0))::int as captured,
         (coalesce(v.folded_released, 0) + coalesce(sum(amount) filter (where type = 'release'), 0))::int as released,
         (coalesce(v.folded_refunded, 0) + coalesce(sum(amount) filter (where type = 'refund'), 0))::int as refunded
       from credit_transfers
       where account_id = c.account_id and reservation_id = c.reservation_id) t
     cross join lateral (
       select count(*) filter (where charged)::int as charged,
         count(*) filter (where not charged
           and state in ('queued', 'deferred', 'dispatching', 'unknown'))::int as pending
       from chat_recipients where account_id = c.account_id and campaign_id = c.id) r
     where reserved <> c.total + c.retried or (c.purged_at is null and (
       captured - refunded <> charged or reserved - captured - released <> pending))`,
  );
}

/** Checks: no message is dispatching. Holds from the lease plus 30 s after the last sender was killed. */
export async function checkNothingDispatching(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "recipients that are still dispatching",
    `select account_id, campaign_id, id, dispatched_at from chat_recipients where state = 'dispatching'`,
  );
}

/** Checks what always holds: the counts of reports equal the recipients and replies, by number and quarter-hour. */
export async function checkMessageReports(db: Queryable): Promise<void> {
  const states = (count: "sent" | "failed" | "pending") =>
    recipientStates
      .filter((state) => countOfState[state] === count)
      .map((state) => `'${state}'`)
      .join(", ");
  await assertNone(
    db,
    "campaigns whose counts for reports differ from their recipients and replies",
    `select f.account_id, f.campaign_id, f.chat_number_id, f.at, sum(sent) as sent, sum(delivered) as delivered,
       sum(read) as read, sum(failed) as failed, sum(pending) as pending, sum(credits) as credits,
       sum(replies) as replies, sum(opt_outs) as opt_outs
     from (
       select account_id, campaign_id, chat_number_id, begins_at as at, sent, delivered, read, failed, pending, credits,
         replies, opt_outs
       from chat_report_counts
       union all
       select r.account_id, r.campaign_id, c.chat_number_id,
         date_bin('15 minutes', coalesce(r.dispatched_at, r.accepted_at, r.ended_at), 'epoch'),
         -(r.state in (${states("sent")}))::int, -(r.state in ('delivered', 'read'))::int, -(r.state = 'read')::int,
         -(r.state in (${states("failed")}))::int, -(r.state in (${states("pending")}))::int, -r.charged::int, 0, 0
       from chat_recipients r join chat_campaigns c on c.account_id = r.account_id and c.id = r.campaign_id
       union all
       select account_id, campaign_id, chat_number_id, date_bin('15 minutes', received_at, 'epoch'),
         0, 0, 0, 0, 0, 0, -1, -opted_out::int
       from chat_replies) f
     join chat_campaigns c on c.account_id = f.account_id and c.id = f.campaign_id
     where c.report_counted and c.purged_at is null and f.at is not null
     group by 1, 2, 3, 4
     having (sum(sent), sum(delivered), sum(read), sum(failed), sum(pending), sum(credits), sum(replies), sum(opt_outs))
       <> (0, 0, 0, 0, 0, 0, 0, 0)`,
  );
}

/** Checks all invariants of calls when no call is live. */
export async function checkCalls(db: Queryable): Promise<void> {
  await checkCallOutcomes(db);
  await checkCallTimes(db);
  await checkCallCredits(db);
  await checkAgentsAnsweredFirst(db);
  await checkNoLiveCustomersLeft(db);
  await checkCallAttempts(db);
  await checkCallEvents(db);
  await checkCallReports(db);
}

/** Checks: a call that is not queued has ended once, with one outcome, and so has each of its legs. */
export async function checkCallOutcomes(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "calls without exactly one outcome",
    `select c.account_id, c.id, c.stage, c.status, c.disposition, c.ended_reason, c.ended_by, c.ended_at, n.*
     from calls c
     cross join lateral (
       select
         (select count(*) from call_events e
           where e.account_id = c.account_id and e.call_id = c.id and e.type = 'call.completed')::int as call_events,
         (select count(*) from events e
           where e.account_id = c.account_id and e.type = 'call.completed'
             and (e.data ->> 'call_id')::bigint = c.id)::int as events,
         (select count(*) from call_legs l
           where l.account_id = c.account_id and l.call_id = c.id
             and (l.state <> 'ended' or l.ended_at is null or l.outcome is null))::int as live_legs) n
     where c.stage <> 'queued' and (
       c.stage <> 'ended' or c.ended_at is null or c.disposition is null or c.ended_reason is null
       or c.ended_by is null or c.recording_state = 'recording'
       or c.status not in ('completed', 'busy', 'failed', 'no-answer', 'canceled')
       or n.call_events <> 1 or n.events <> 1 or n.live_legs <> 0)`,
  );
}

/** Checks: no call or leg ends before it rang or was answered, and no lost call before its last key press. */
async function checkCallTimes(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "calls that end before what happened on them",
    `select c.account_id, c.id, c.ended_reason, c.ringing_at, c.answered_at, c.ended_at,
       (select json_agg(l) from call_legs l where l.account_id = c.account_id and l.call_id = c.id) as legs
     from calls c
     where c.ended_at < greatest(c.ringing_at, c.answered_at)
       or exists (
         select from call_legs l
         where l.account_id = c.account_id and l.call_id = c.id
           and l.ended_at < greatest(l.initiated_at, l.ringing_at, l.answered_at))
       or c.ended_reason = 'node_lost' and exists (
         select from call_events e
         where e.account_id = c.account_id and e.call_id = c.id and e.type = 'call.dtmf' and e.at > c.ended_at)`,
  );
}

/** Checks for calls: an ended call paid its cost and reserves nothing, and its cost is the billed pulses. */
export async function checkCallCredits(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "calls whose credit does not match their cost",
    `select c.account_id, c.id, c.stage, c.cost, c.reserved as counted, c.billed_seconds, t.*, r.closed_at, r.subject
     from calls c
     join accounts a on a.account_id = c.account_id
     left join credit_reservations r on r.account_id = c.account_id and r.id = c.reservation_id
     cross join lateral (
       select
         (coalesce(r.folded_reserved, 0) + coalesce(sum(amount) filter (where type = 'reserve'), 0))::int as reserved,
         (coalesce(r.folded_captured, 0) + coalesce(sum(amount) filter (where type = 'capture'), 0))::int as captured,
         (coalesce(r.folded_released, 0) + coalesce(sum(amount) filter (where type = 'release'), 0))::int as released
       from credit_transfers where account_id = c.account_id and reservation_id = c.reservation_id) t
     where case when c.direction = 'inbound' then c.cost <> 0 or r.id is not null
       -- The reservation of a call is deleted when it is folded.
       when r.id is null and a.retention_ledger_days is not null then false
       else r.id is null or r.subject <> 'call:' || c.id
       or t.captured <> c.cost
       or (c.stage = 'ended') is distinct from (r.closed_at is not null)
       or (c.stage = 'ended' and (
         t.reserved <> t.captured + t.released
         or c.cost * a.call_pulse_seconds is distinct from coalesce(c.billed_seconds, 0)))
       or (c.stage <> 'ended' and t.reserved <> c.reserved) end`,
  );
}

/** Checks: the counts of each folded day of reports equal those of its calls, all of which have ended. */
export async function checkCallReports(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "folded days whose counts differ from their calls",
    `with counted as (
       select account_id, begins_at, type, campaign_id, caller, trunk_id, sum(calls)::int as calls,
         sum(talks)::int as talks, sum(talk_seconds)::int as talk_seconds, sum(ring_seconds)::int as ring_seconds,
         sum(billed_seconds)::int as billed_seconds, sum(cost)::int as cost,
         sum(answered + machine + busy + no_answer + failed + canceled)::int as ended
       from call_report_counts group by 1, 2, 3, 4, 5, 6
     ), expected as (
       select c.account_id, d.begins_at,
         case when c.direction = 'inbound' then 'incoming' when c.recipient_id is null then 'click_to_call'
           else 'voice_campaign' end,
         case when c.recipient_id is not null then c.campaign_id end,
         case when c.recipient_id is null and c.direction = 'outbound' then c.cli_number else c.from_number end,
         case when c.recipient_id is null and c.direction = 'outbound' and c.cli_number is null then c.trunk_id end,
         count(*)::int, count(c.talk_seconds)::int, coalesce(sum(c.talk_seconds), 0)::int,
         coalesce(sum(c.ring_seconds), 0)::int, coalesce(sum(c.billed_seconds), 0)::int, sum(c.cost)::int,
         count(*) filter (where c.stage = 'ended')::int
       from call_report_days d
       join calls c on c.account_id = d.account_id and c.queued_at >= d.begins_at and c.queued_at < d.ends_at
       group by 1, 2, 3, 4, 5, 6
     )
     (select 'counted' as side, * from (select * from counted except select * from expected) c)
     union all (select 'expected', * from (select * from expected except select * from counted) e)`,
  );
}

/** Checks: no customer was called before an agent of the same call had answered. */
export async function checkAgentsAnsweredFirst(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "customers who were called before an agent answered",
    `select l.account_id, l.call_id, l.id, l.initiated_at from call_legs l
     join calls c on c.account_id = l.account_id and c.id = l.call_id
     -- A campaign's call has no agent, and an inbound call's customer is not called.
     where l.role = 'customer' and c.recipient_id is null and c.direction = 'outbound' and not exists (
       select from call_legs a
       where a.account_id = l.account_id and a.call_id = l.call_id and a.role = 'agent'
         and a.answered_at <= l.initiated_at)`,
  );
}

/** Checks that no customer is still marked as on a call. */
export async function checkNoLiveCustomersLeft(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "customers who are still marked as on a call",
    "select account_id, phone_key, call_id from live_customers",
  );
}

/** Checks: automatic attempts do not exceed the retries, and attempts are numbered consecutively. */
export async function checkCallAttempts(db: Queryable): Promise<void> {
  await assertNone(
    db,
    "click-to-calls with too many attempts",
    `select p.account_id, p.campaign_id, p.max_retry, n.*
     from click_to_calls p
     cross join lateral (
       select count(*) filter (where retried_leg is null)::int as automatic, count(*)::int as attempts,
         count(distinct attempt)::int as numbers, max(attempt) as last
       from calls c where c.account_id = p.account_id and c.campaign_id = p.campaign_id) n
     where n.automatic > 1 + p.max_retry or n.numbers <> n.attempts or n.last <> n.attempts`,
  );
}

/**
 * Checks the order of a call's events in its record and in the outbox: it is initiated first and once,
 * an agent answers before the legs are bridged, and its completion is last.
 */
export async function checkCallEvents(db: Queryable): Promise<void> {
  const sources = {
    "in the call record": "select account_id, call_id, id, type, data from call_events",
    "in the outbox": `select account_id, (data ->> 'call_id')::bigint as call_id, id, type, data
      from events where type like 'call.%'`,
  };
  for (const [where, source] of Object.entries(sources)) {
    await assertNone(
      db,
      `calls whose events are out of order ${where}`,
      `select account_id, call_id, array_agg(type order by id) as types
       from (${source}) e
       group by 1, 2
       having count(*) filter (where type = 'call.initiated') > 1
         or count(*) filter (where type = 'call.bridged') > 1
         or count(*) filter (where type = 'call.recording.ready') > 1
         or min(id) filter (where type = 'call.initiated') > min(id)
         or max(id) filter (where type = 'call.completed') < max(id)
         or (count(*) filter (where type = 'call.bridged') > 0 and coalesce(
           min(id) filter (where type = 'call.answered' and data ->> 'leg' = 'agent')
             > min(id) filter (where type = 'call.bridged'), true))
         or coalesce(min(id) filter (where data ->> 'leg' = 'customer')
           < min(id) filter (where type = 'call.answered' and data ->> 'leg' = 'agent'), false)`,
    );
  }
}
