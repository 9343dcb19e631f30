// A campaign's failures by reason, and the calls it placed in each of the last minutes.
import { sql, type Kysely } from "kysely";
import Type, { type Static } from "typebox";
import {
  count,
  counted_max,
  minute,
  type FailureCount,
} from "../../audience/recipients/campaign-figures-schema.ts";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import { was_not_dialed } from "../../calls/state-machine/call-outcomes.ts";
import type { DB } from "../../lib/database/database.ts";
import { searches } from "../../lib/database/searches.ts";
import { failureReason } from "./internal/failure-reason.ts";

/** Calls are counted from their records, so the history is short. */
export const pace_minutes_max = 180;
const calls_max = 100_000;

/** A minute in which calls were placed. */
export const VoiceMinute = Type.Object(
  {
    minute,
    placed: count("Calls placed in this minute, without those that ended before they were dialed"),
    answered: count("Those that were answered"),
    failed: count("Those that ended without an answer"),
  },
  { title: "VoiceMinute" },
);
export type VoiceMinute = Static<typeof VoiceMinute>;

/**
 * Returns why recipients were not reached, the most frequent reason first: those that did not answer or were suppressed
 * from the campaign's counts, and the others from indexes: at most 10,000 that were busy or declined, and at most 10,000
 * that failed or were skipped.
 */
export async function countFailures(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignKey,
): Promise<FailureCount[]> {
  const { rows } = await searches.use(account_id, () =>
    sql<Omit<FailureCount, "is_more"> & { readonly counted: number }>`
      with failed as materialized (
        select r.state, r.skip_reason, r.call_id from voice_recipients r
        where r.account_id = ${account_id} and r.campaign_id = ${campaign_id}
          and r.state in ('failed', 'skipped')
        order by r.id desc limit ${counted_max}
      ), busy as materialized (
        select r.state, r.skip_reason, r.call_id from voice_recipients r
        where r.account_id = ${account_id} and r.campaign_id = ${campaign_id} and r.state = 'busy'
        order by r.id desc limit ${counted_max}
      ), counts as (
        select f.state, ${failureReason("f")} as reason, count(*)::int as count
        from (select * from failed union all select * from busy) f
        left join calls c on c.account_id = ${account_id} and c.id = f.call_id
        group by 1, 2
        union all
        select k.state, k.state, sum(k.count)::int from (
          select unnest(array['no_answer', 'suppressed']) as state,
            unnest(array[n.no_answer, n.suppressed]) as count
          from voice_counts n
          where n.account_id = ${account_id} and n.campaign_id = ${campaign_id}) k
        group by k.state having sum(k.count) > 0
      )
      select c.state, c.reason, c.count,
        case when c.state = 'busy' then (select count(*)::int from busy)
          when c.state in ('failed', 'skipped') then (select count(*)::int from failed) else 0 end as counted
      from counts c order by c.count desc, c.reason`.execute(db),
  );
  return rows.map(({ counted, ...row }) => ({ ...row, is_more: counted === counted_max }));
}

/** Returns the minutes since `from` in which calls were placed, oldest first. Calls that were not dialed are left out. */
export async function readPace(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignKey,
  from: Date,
): Promise<VoiceMinute[]> {
  const { rows } = await searches.use(account_id, () =>
    sql<Omit<VoiceMinute, "minute"> & { readonly minute: Date }>`
      select date_trunc('minute', c.queued_at) as minute, count(*)::int as placed,
        count(c.answered_at)::int as answered,
        count(*) filter (where c.answered_at is null and c.stage = 'ended')::int as failed
      from (
        select c.queued_at, c.ringing_at, c.answered_at, c.stage, c.disposition, c.cost from calls c
        where c.account_id = ${account_id} and c.campaign_id = ${campaign_id} and c.queued_at > ${from}
        order by c.queued_at desc, c.id desc limit ${calls_max}) c
      where ${sql.raw(was_not_dialed)} is not true
      group by 1 order by 1`.execute(db),
  );
  return rows.map((row) => ({ ...row, minute: row.minute.toISOString() }));
}
