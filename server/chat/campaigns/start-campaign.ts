import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { describeSpan } from "../../lib/tracing/tracing.ts";
import { recordEvent } from "../../engine/record-event.ts";
import { recordHeldStart } from "../holds/holds.ts";
import { lockTemplateOf, revalidateCampaign } from "../templates/revalidate-campaigns.ts";

/**
 * Runs the job chat.start_campaign: starts a scheduled campaign unless it was cancelled. It starts paused
 * if it is held, or if its template has changed since its creation.
 */
export async function startCampaign(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
): Promise<void> {
  const now = app.clock.now();
  const campaign_id = Number(subject);
  describeSpan({ "trunkline.campaign.id": Number(subject) });
  const started = await app.db.query.transaction().execute(async (tx) => {
    await lockTemplateOf(tx, { account_id, id: campaign_id });
    const row = await tx
      .updateTable("chat_campaigns")
      .set({ state: "running", started_at: now, work_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", campaign_id)
      .where("state", "=", "scheduled")
      .returning(["id", "chat_number_id", "template_id", "name"])
      .executeTakeFirst();
    if (!row) return undefined;
    await recordEvent(tx, {
      account_id,
      type: "chat.campaign.started",
      occurred_at: now,
      data: { campaign_id, name: row.name },
    });
    await recordHeldStart(tx, account_id, row, now);
    await revalidateCampaign(tx, { account_id, id: campaign_id }, now);
    return row;
  });
  if (started) app.notifications.send("chat_work", `${account_id}:${started.chat_number_id}`);
}
