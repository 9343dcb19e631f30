// The SQL statements of a sender.
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import type { MessagePlan } from "../../messages/message-plan.ts";
import type { PhoneAlias } from "../../messages/phone-alias.ts";
import type { RecipientState } from "../../recipients/recipient-states.ts";

/** The result of a dispatch: a row of chat_move_recipients_json. */
export type Result = {
  readonly campaign_id: number;
  readonly id: number;
  readonly dispatches: number;
  readonly state: RecipientState;
  readonly provider_message_id?: string;
  readonly error_code?: number | null;
  readonly error?: string | null;
  /** The circuit breaker does not count the failure. */
  readonly recipient_side?: boolean;
  readonly due_at?: Date;
  readonly at?: Date;
  /** The number under which the provider knows the recipient, where it is another one. */
  readonly alias?: PhoneAlias;
};

/** A recipient marked as dispatching: it is sent at once, or returned to the queue. */
export type Marked = {
  readonly campaign_id: number;
  readonly id: number;
  readonly dispatches: number;
  /** The address: a phone, or the BSUID of a recipient without one. */
  readonly phone: string;
  readonly variables: Readonly<Record<string, string>> | null;
  /** The error that deferred it last, and how often in a row. */
  readonly error: string | null;
  readonly attempts: number;
};

type Holder = { readonly account_id: number; readonly number_id: number; readonly fence: number };

const batch_statement = statement<Marked & { to_state: RecipientState }>(`
  select campaign_id, id, to_state, dispatches, phone, variables, error, attempts
  from record_and_claim_messages($1, $2, $3, $4, $5, $6, $7, $8, $9)`);

/**
 * Records the results and marks the next recipients of a campaign (none when `take` is 0). Throws
 * when the lease is lost (isLeaseLost), with nothing written. `seen` includes skipped recipients.
 */
export async function recordAndMark(
  app: App,
  holder: Holder,
  results: readonly Result[],
  next: { campaign_id: number; take: number; after: number },
): Promise<{ marked: Marked[]; seen: number; last_id: number }> {
  const aliases = results.flatMap(({ alias }) => alias ?? []);
  const rows = await batch_statement(app.db.pool, [
    holder.account_id,
    holder.number_id,
    holder.fence,
    JSON.stringify(results),
    next.campaign_id,
    next.take,
    next.after,
    app.clock.now(),
    aliases.length > 0 ? JSON.stringify(aliases) : null,
  ]);
  const fresh = rows.filter(({ campaign_id }) => campaign_id === next.campaign_id);
  return {
    marked: rows.filter(({ to_state }) => to_state === "dispatching"),
    seen: fresh.length,
    last_id: fresh.reduce((last, { id }) => Math.max(last, id), next.after),
  };
}

/** The current state of a running campaign of the number. */
export type CampaignState = {
  readonly campaign_id: number;
  readonly state: string;
  readonly template_id: number | null;
  readonly work_at: Date;
  readonly held: boolean;
  /** Messages take the provider's marketing route. */
  readonly marketing: boolean;
  readonly queued: number;
  readonly deferred: number;
  readonly dispatching: number;
  readonly unknown: number;
  /** Attempts that ended, and those of them that failed, without failures for a reason of the recipient. */
  readonly ended: number;
  readonly failed: number;
  /** Attempts whose delivery status arrived, without failures for a reason of the recipient. */
  readonly reported: number;
  /** Of the deferred; earlier, if many of unknown outcome are due before. */
  readonly next_due_at: Date | null;
};

/** The most pending recipients among which a poll looks for the next deferred one. */
const pending_read_max = 100;

const openCampaigns = (condition: string) =>
  statement<CampaignState>(`
  select c.id as campaign_id, c.state, c.template_id, c.work_at,
    -- The route takes marketing templates only, and a category may change after the campaign's creation.
    -- Earlier versions stored a route that the provider requires as used without a request, or without the time.
    (c.mm_lite->>'used')::boolean and (
      coalesce((c.mm_lite->>'required')::boolean, not (c.mm_lite->>'requested')::boolean) and not exists (
        select from chat_templates t
        where t.account_id = $1 and t.id = c.template_id and t.category <> 'MARKETING'
          and t.category_at > (c.mm_lite->>'required_at')::timestamptz) or exists (
        select from chat_templates t
        where t.account_id = $1 and t.id = c.template_id and t.category = 'MARKETING')) as marketing,
    -- The account may have lost the feature since.
    not exists (
      select from accounts a where a.account_id = $1 and a.frozen_at is null and 'bulk_chat' = any (a.features)) or exists (
      select from chat_holds h where h.account_id = $1 and (
        (h.scope = 'campaign' and h.subject_id = c.id) or (h.scope = 'template' and h.subject_id = c.template_id)
        or (h.scope = 'number' and h.subject_id = c.chat_number_id) or h.scope = 'account')) as held,
    n.queued::int, n.deferred::int, n.dispatching::int, n.unknown::int, n.ended::int, n.failed::int,
    n.reported::int,
    -- Without the count, it reads all unknown recipients, which are in the same index, if none is deferred. Few of those are
    -- due, but thousands may come before the next deferred one: reads on at the time of the last one read.
    case when n.deferred > 0 then coalesce((
      select r.due_at from chat_recipients r
      where r.account_id = $1 and r.campaign_id = c.id and r.due_at <= $3 and r.state = 'deferred'
      order by r.due_at limit 1), (
      select p.due_at from (
        select r.due_at, r.state, row_number() over (order by r.due_at) as place from chat_recipients r
        where r.account_id = $1 and r.campaign_id = c.id and r.due_at > $3
        order by r.due_at limit ${pending_read_max}) p
      where p.state = 'deferred' or p.place = ${pending_read_max}
      order by p.due_at limit 1)) end as next_due_at
  from chat_campaigns c
  cross join lateral (
    select sum(queued) as queued, sum(deferred) as deferred, sum(dispatching) as dispatching,
      sum(unknown) as unknown,
      sum(accepted + sent + delivered + read + refused + undelivered + unresolved - recipient_failures) as ended,
      sum(refused + undelivered + unresolved - recipient_failures) as failed,
      sum(sent + delivered + read + undelivered - recipient_failures) as reported
    from chat_counts n where n.account_id = $1 and n.campaign_id = c.id) n
  where c.account_id = $1 and c.chat_number_id = $2 and c.finished_at is null and ${condition}
    and (c.state = 'running' or n.dispatching > 0)`);
// The condition of the index chat_campaigns_started: neither scheduled campaigns nor their counts are read.
const started_campaigns_statement = openCampaigns("c.state <> 'scheduled'");
const open_campaigns_statement = openCampaigns("true");

/**
 * Returns the number's running campaigns, and ended ones with messages in flight; on request also scheduled ones with
 * messages in flight, which only a restore creates.
 */
export async function findOpenCampaigns(
  app: App,
  accountId: number,
  numberId: number,
  withScheduled = false,
): Promise<CampaignState[]> {
  const find = withScheduled ? open_campaigns_statement : started_campaigns_statement;
  return find(app.db.pool, [accountId, numberId, app.clock.now()]);
}

const dispatching_statement = statement<{ campaign_id: number; id: number; dispatches: number }>(`
  select r.campaign_id, r.id, r.dispatches from unnest($2::bigint[]) c (campaign_id)
  cross join lateral (
    select r.campaign_id, r.id, r.dispatches from chat_recipients r
    where r.account_id = $1 and r.campaign_id = c.campaign_id and r.accepted_at is null and r.ended_at is null
      and r.state = 'dispatching' and r.id > $3
    order by r.id
    -- Those dispatching come first among the pending: stops before it reads the queue.
    limit (select least(greatest(sum(n.dispatching), 0), $4::bigint) from chat_counts n
      where n.account_id = $1 and n.campaign_id = c.campaign_id)) r`);

/** Part of each campaign's recipients, in the order of IDs. */
export type Slice = { readonly after: number; readonly limit: number };

/** Returns all dispatching recipients of these campaigns, or a slice of each. */
export async function findDispatching(
  app: App,
  accountId: number,
  campaignIds: readonly number[],
  slice?: Slice,
): Promise<{ campaign_id: number; id: number; dispatches: number }[]> {
  const { after, limit } = slice ?? { after: 0, limit: null };
  return dispatching_statement(app.db.pool, [accountId, campaignIds, after, limit]);
}

const plan_statement = statement<{ plan: MessagePlan }>(
  "select plan from chat_campaigns where account_id = $1 and id = $2",
);

export async function findPlan(
  app: App,
  accountId: number,
  campaignId: number,
): Promise<MessagePlan> {
  const [row] = await plan_statement(app.db.pool, [accountId, campaignId]);
  if (!row) throw new Error(`campaign ${campaignId} of account ${accountId} is gone`);
  return row.plan;
}

// Locks the campaigns in the order of IDs, as all do that lock several.
const work_at_statement = statement(`
  with polled as (
    select c.id, p.next_at
    from unnest($2::bigint[], $3::timestamptz[], $4::timestamptz[]) as p (id, work_at, next_at)
    join chat_campaigns c on c.account_id = $1 and c.id = p.id
    where c.work_at = p.work_at and c.work_at <> p.next_at
    order by c.id
    for no key update of c
  )
  update chat_campaigns c set work_at = p.next_at
  from polled p
  where c.account_id = $1 and c.id = p.id`);

/** A campaign as it was polled, and when it is polled next. */
type NextPoll = { readonly latest: CampaignState; readonly next: Date };

/** Sets when each campaign is next polled, unless it was woken since the poll. */
export async function setWorkAt(
  app: App,
  accountId: number,
  polls: readonly NextPoll[],
): Promise<void> {
  if (polls.length === 0) return;
  await work_at_statement(app.db.pool, [
    accountId,
    polls.map(({ latest }) => latest.campaign_id),
    polls.map(({ latest }) => latest.work_at),
    polls.map(({ next }) => next),
  ]);
}

export type SenderNumber = {
  readonly driver: "sandbox" | "whatsapp";
  readonly provider_phone_number_id: string;
  readonly business_account_id: string;
  readonly rate_per_second: number;
  readonly marketing_onboarded: boolean;
  readonly active: boolean;
  readonly time_zone: string;
  readonly chat_quiet_from: string | null;
  readonly chat_quiet_to: string | null;
  readonly chat_error_percent: number;
  readonly account_id: number;
  /** The account's own, sealed; null: the installation's. */
  readonly access_token: string | null;
};

const number_statement = statement<SenderNumber>(`
  select n.driver, n.provider_phone_number_id, n.business_account_id, n.rate_per_second,
    n.marketing_onboarded, n.active,
    a.time_zone, a.chat_quiet_from::text, a.chat_quiet_to::text, a.chat_error_percent,
    n.account_id, w.access_token
  from chat_numbers n join accounts a on a.account_id = n.account_id
  left join whatsapp_credentials w on w.account_id = n.account_id and n.driver = 'whatsapp'
  where n.account_id = $1 and n.id = $2`);

export async function findSenderNumber(
  app: App,
  accountId: number,
  numberId: number,
): Promise<SenderNumber> {
  const [row] = await number_statement(app.db.pool, [accountId, numberId]);
  if (!row) throw new Error(`chat number ${numberId} of account ${accountId} is gone`);
  return row;
}
