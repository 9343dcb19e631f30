// A campaign ends when it has no recipient that is synthesizing, waiting or calling. Only the recipients
// decide, never an empty result of a search for work.
import type { App } from "../../engine/app.ts";
import { isUnfrozen } from "../../engine/poll-work.ts";
import { statement } from "../../lib/database/database.ts";
import { liftHolds } from "./holds.ts";

/** When campaigns may end: see poll-work.ts. */
export const open_campaigns = [
  `from voice_campaigns v
   where v.finished_at is null and v.state in ('running', 'cancelled', 'failed') and ${isUnfrozen("v")}
   order by v.account_id`,
];

/**
 * Runs one iteration: ends every open campaign without open recipients and returns how many ended. Concurrent workers end
 * it once.
 */
export async function completeVoiceCampaigns(app: App): Promise<number> {
  let ended = 0;
  for (const { account_id, id } of await findDone(app.db.pool, []))
    if (await completeVoiceCampaign(app, account_id, id)) ended++;
  return ended;
}

/**
 * Ends a campaign without open recipients and removes its holds: running becomes completed; cancelled and failed get
 * finished_at.
 */
export async function completeVoiceCampaign(
  app: App,
  accountId: number,
  campaignId: number,
): Promise<boolean> {
  return app.db.query.transaction().execute(async (tx) => {
    await lockCampaign(tx, [accountId, campaignId]);
    const ended = await endCampaign(tx, [accountId, campaignId, app.clock.now()]);
    if (ended.length === 0) return false;
    // An ended campaign cannot be resumed, and its retry would start paused.
    await liftHolds(tx, { account_id: accountId, campaign_id: campaignId });
    return true;
  });
}

// One subquery per state, because each state has its own partial index. Scalar subqueries, so that no
// plan reads the waiting recipients of all campaigns by an anti-join.
const hasNone = (state: "synthesizing" | "waiting" | "calling") => `
  (select r.id from voice_recipients r
    where r.account_id = v.account_id and r.campaign_id = v.id and r.state = '${state}' limit 1) is null`;

const done = `v.finished_at is null and v.state in ('running', 'cancelled', 'failed')
  and ${hasNone("calling")} and ${hasNone("waiting")} and ${hasNone("synthesizing")}`;

const findDone = statement<{ account_id: number; id: number }>(
  `select v.account_id, v.id from voice_campaigns v where ${done} and ${isUnfrozen("v")} order by v.account_id, v.id`,
);

// A statement that waits for the lock looks for recipients as of before: it does not see those that a retry has
// made due meanwhile.
const lockCampaign = statement(
  "select from voice_campaigns where account_id = $1 and id = $2 for no key update",
);

const endCampaign = statement<{ id: number }>(`
  with ended as (
    update voice_campaigns v set finished_at = $3,
      state = case when v.state = 'running' then 'completed' else v.state end
    where v.account_id = $1 and v.id = $2 and ${done}
    returning v.id, v.public_id, v.name, v.state, v.total
  ), recorded as (
    insert into events (account_id, type, occurred_at, data)
    select $1, 'voice.campaign.completed', $3,
      json_build_object('campaign_id', e.id, 'id', e.public_id, 'name', e.name, 'total', e.total,
        'answered', n.answered, 'machine', n.machine, 'busy', n.busy, 'no_answer', n.no_answer,
        'failed', n.failed, 'suppressed', n.suppressed, 'skipped', n.skipped, 'cancelled', n.cancelled,
        'attempts', n.attempts, 'cost', n.cost, 'talk_seconds', n.talk_seconds,
        'live_answers', n.live_answers, 'abandoned', n.abandoned,
        'abandonment_rate', n.abandoned::float8 / nullif(n.live_answers, 0))
    from ended e
    cross join (
      select sum(c.answered) as answered, sum(c.machine) as machine, sum(c.busy) as busy,
        sum(c.no_answer) as no_answer, sum(c.failed) as failed, sum(c.suppressed) as suppressed,
        sum(c.skipped) as skipped, sum(c.cancelled) as cancelled, sum(c.attempts) as attempts, sum(c.cost) as cost,
        sum(c.talk_seconds) as talk_seconds, sum(c.live_answers) as live_answers, sum(c.abandoned) as abandoned
      from voice_counts c where c.account_id = $1 and c.campaign_id = $2) n
    where e.state = 'completed'
  )
  select id from ended`);
