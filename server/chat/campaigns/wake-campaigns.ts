import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { statement } from "../../lib/database/database.ts";
import { wakeSenders } from "../numbers/wake-senders.ts";

/**
 * Runs the job chat.wake_campaigns: makes the account's running campaigns due, because they may wait
 * for the end of a quiet time that has changed, or for a feature that the account has again. Every `work_at`
 * changes, so that a sender that read the old quiet time does not overwrite it.
 */
export async function wakeCampaigns(
  app: App,
  { account_id }: Pick<Job, "account_id">,
): Promise<void> {
  const woken = await wakeRunning(app.db.pool, [account_id, app.clock.now()]);
  const number_ids = new Set(woken.map(({ chat_number_id }) => chat_number_id));
  wakeSenders(app, account_id, [...number_ids]);
}

// Locks the campaigns in the order of IDs, as all do that lock several.
const wakeRunning = statement<{ chat_number_id: number }>(`
  with running as (
    select c.id from chat_campaigns c
    where c.account_id = $1 and c.state = 'running'
    order by c.id
    for no key update
  )
  update chat_campaigns c set work_at = $2
  from running r
  where c.account_id = $1 and c.id = r.id
  returning c.chat_number_id`);
