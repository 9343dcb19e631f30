// Pauses the campaigns of a restored database, and keeps messages of the lost time from going out twice.
import { sql } from "kysely";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import { messageOutreach } from "../../audience/suppressions/suppressions.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { moveRecipients } from "../recipients/move-recipients.ts";
import { pauseChatCampaign } from "./pause-chat-campaign.ts";

/** The time of which a restored database knows nothing. */
export type LostTime = {
  readonly since: Date;
  readonly until: Date;
  /** What was created later was created after the restore, and no worker has run since; null: that is not known. */
  readonly created_until: Date | null;
};

/** Covers the clocks of several machines, and the portion that each new sender may send at once. */
const margin_ms = 5_000;
const batch_rows = 5_000;

/**
 * Pauses every campaign of before the restore that has not ended, until a person resumes it. The recipients whose
 * messages may have been sent in the lost time become `dispatching`, as if the sender had been killed: the next sender
 * marks them as of unknown outcome, which delivery statuses settle, and nothing is sent to them again unless a person
 * asks for it. Returns how many there are of each.
 */
export async function pauseRestoredCampaigns(
  tx: Tx,
  actor: Actor,
  lost: LostTime,
  now: Date,
): Promise<{ campaigns: number; recipients_in_doubt: number }> {
  const { account_id } = actor;
  const campaigns = await findOpenCampaigns(tx, [account_id, lost.created_until]);
  let recipients_in_doubt = 0;
  for (const { id, rate_per_second, scheduled_at, category } of campaigns) {
    const since = Math.max(lost.since.getTime(), scheduled_at?.getTime() ?? 0);
    const sent_ms = lost.until.getTime() - since + margin_ms;
    const sent_max = Math.max(0, Math.ceil((rate_per_second * sent_ms) / 1_000));
    const { is_marketing } = messageOutreach(category);
    const sent = { account_id, campaign_id: id, sent_max, is_marketing };
    const doubted = await doubtRecipients(tx, sent, lost, now);
    recipients_in_doubt += doubted;
    await pauseChatCampaign(tx, actor, id, now, describe(lost, doubted));
  }
  return { campaigns: campaigns.length, recipients_in_doubt };
}

// Also those that begin after the lost time: they may have been cancelled in it.
const findOpenCampaigns = statement<{
  id: number;
  rate_per_second: number;
  scheduled_at: Date | null;
  category: string | null;
}>(`
  select c.id, n.rate_per_second, c.scheduled_at, t.category from chat_campaigns c
  join chat_numbers n on n.account_id = $1 and n.id = c.chat_number_id
  left join chat_templates t on t.account_id = $1 and t.id = c.template_id
  where c.account_id = $1 and c.finished_at is null and c.state in ('scheduled', 'running')
    and ($2::timestamptz is null or c.created_at <= $2)
  order by c.id`);

// Senders take the queue in the order of IDs, and start again at its end: recipients that were queued again wait behind
// them. So what was sent is the first of each number of dispatches, and no more than the rate allows. Suppressed
// recipients do not count: a sender skips them at no cost of the rate.
const findSendable = statement<{ id: number; dispatches: number }>(`
  select id, dispatches from chat_recipients
  where account_id = $1 and campaign_id = $2 and due_at is not null and state = 'deferred' and due_at <= $3
  union all
  select r.id, r.dispatches from (
    select distinct dispatches from chat_recipients
    where account_id = $1 and campaign_id = $2 and accepted_at is null and ended_at is null and state = 'queued') d
  cross join lateral (
    select r.id, r.dispatches from chat_recipients r
    cross join lateral (
      select coalesce(phone_key(r.phone), (
        select b.phone_key from person_bsuids b where b.account_id = $1 and b.bsuid = r.bsuid),
        'bsuid:' || r.bsuid) as person_key) w
    where r.account_id = $1 and r.campaign_id = $2 and r.accepted_at is null and r.ended_at is null
      and r.state = 'queued' and r.dispatches = d.dispatches
      and not exists (
        select from (
          select w.person_key
          union all
          select a.alias_key from phone_aliases a where a.account_id = $1 and a.phone_key = w.person_key) k
        join suppressions s on s.account_id = $1 and s.person_key = k.person_key
        where s.channel in ('all', 'chat') and (s.scope = 'all' or $5)
          and (s.expires_at is null or s.expires_at > $3))
    order by r.id limit $4) r
  order by id`);

async function doubtRecipients(
  tx: Tx,
  sent: { account_id: number; campaign_id: number; sent_max: number; is_marketing: boolean },
  lost: LostTime,
  now: Date,
): Promise<number> {
  const { account_id, campaign_id, sent_max, is_marketing } = sent;
  if (sent_max === 0) return 0;
  const bounds = [lost.until, sent_max, is_marketing];
  const rows = await findSendable(tx, [account_id, campaign_id, ...bounds]);
  for (let from = 0; from < rows.length; from += batch_rows) {
    const batch = rows.slice(from, from + batch_rows);
    const moves = batch.map((row) => ({ ...row, campaign_id, state: "dispatching" as const }));
    await moveRecipients(tx, account_id, moves, now);
  }
  // A sender marks them as of unknown outcome, although the campaign is paused.
  await sql`
    update chat_campaigns set work_at = ${now}
    where account_id = ${account_id} and id = ${campaign_id} and state = 'running'`.execute(tx);
  return rows.length;
}

function describe({ since, until }: LostTime, doubted: number): string {
  const inDoubt =
    doubted === 0
      ? ""
      : `; ${doubted} recipients may have had their message then and are not sent it again`;
  return (
    `The database was restored and knows nothing of ${since.toISOString()} to ${until.toISOString()}${inDoubt}. ` +
    "Resume the campaign if it was not cancelled or changed in that time"
  );
}
