// A campaign's failures by reason, and what it sent in each minute of the last day.
import { sql, type Kysely } from "kysely";
import Type, { type Static } from "typebox";
import {
  count,
  counted_max,
  minute,
  type FailureCount,
} from "../../audience/recipients/campaign-figures-schema.ts";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { DB } from "../../lib/database/database.ts";
import { searches } from "../../lib/database/searches.ts";
import { shownState, type RecipientState } from "../recipients/recipient-states.ts";
import { requireCampaign } from "./campaign-recipients.ts";

/** The rows of chat_minutes are a ring of this many minutes. */
export const pace_minutes_max = 1_440;
const reasons_max = 50;

/** A minute in which something happened. */
export const ChatMinute = Type.Object(
  {
    minute,
    sent: count("Accepted by the provider"),
    delivered: count("Delivered, or read without a report of the delivery"),
    failed: count("Failed or skipped"),
  },
  { title: "ChatMinute" },
);
export type ChatMinute = Static<typeof ChatMinute>;

/** With the predicate of the index; written out, because a parameter could not use the index. */
const failed_states = sql`r.ended_at is not null and r.error is not null
  and r.state in ('refused', 'unresolved', 'undelivered', 'skipped')`;

/**
 * Returns why recipients failed or were skipped, the most frequent reason first. Steps from reason to reason in an
 * index of failures and counts a bounded number of each. Errors: not-found.
 */
export async function countFailures(db: Kysely<DB>, key: CampaignKey): Promise<FailureCount[]> {
  const { account_id, campaign_id } = key;
  await requireCampaign(db, key);
  const of_campaign = sql`r.account_id = ${account_id} and r.campaign_id = ${campaign_id} and ${failed_states}`;
  const { rows } = await searches.use(account_id, () =>
    sql<{ reason: string; state: RecipientState; count: number }>`
      with recursive reasons as (
        (select r.error from chat_recipients r
          where ${of_campaign} order by r.error limit 1)
        union all
        select (select r.error from chat_recipients r
          where ${of_campaign} and r.error > f.error order by r.error limit 1)
        from reasons f where f.error is not null
      )
      select f.error as reason, n.state, n.count from (select error from reasons limit ${reasons_max}) f
      cross join lateral (
        select min(s.state) as state, count(*)::int as count from (
          select r.state from chat_recipients r
          where ${of_campaign} and r.error = f.error limit ${counted_max}) s) n
      where f.error is not null
      order by n.count desc, f.error`.execute(db),
  );
  return rows.map(({ state, ...row }) => ({
    ...row,
    state: shownState(state),
    is_more: row.count === counted_max,
  }));
}

/** Returns the minutes since `from` in which something happened, oldest first. Errors: not-found. */
export async function readPace(
  db: Kysely<DB>,
  key: CampaignKey,
  from: Date,
): Promise<ChatMinute[]> {
  await requireCampaign(db, key);
  const rows = await db
    .selectFrom("chat_minutes")
    .select(["minute", sql<number>`sum(sent)::int`.as("sent")])
    .select([
      sql<number>`sum(delivered)::int`.as("delivered"),
      sql<number>`sum(failed)::int`.as("failed"),
    ])
    .where("account_id", "=", key.account_id)
    .where("campaign_id", "=", key.campaign_id)
    .where("minute", ">", from)
    .groupBy("minute")
    .orderBy("minute")
    .execute();
  return rows.map((row) => ({ ...row, minute: row.minute.toISOString() }));
}
