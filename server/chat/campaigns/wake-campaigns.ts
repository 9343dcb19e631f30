import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
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
  const woken = await app.db.query
    .updateTable("chat_campaigns")
    .set({ work_at: app.clock.now() })
    .where("account_id", "=", account_id)
    .where("state", "=", "running")
    .returning("chat_number_id")
    .execute();
  const number_ids = new Set(woken.map(({ chat_number_id }) => chat_number_id));
  wakeSenders(app, account_id, [...number_ids]);
}
