import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { describeSpan } from "../../lib/tracing/tracing.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";

/** Runs the job voice.start_campaign: starts a scheduled campaign, unless it was cancelled. */
export async function startVoiceCampaign(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
): Promise<void> {
  const now = app.clock.now();
  describeSpan({ "trunkline.campaign.id": Number(subject) });
  const started = await app.db.query.transaction().execute(async (tx) => {
    const campaign = await tx
      .updateTable("voice_campaigns")
      .set({ state: "running", started_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", Number(subject))
      .where("state", "=", "scheduled")
      .returning(["id", "public_id", "name", "trunk_id"])
      .executeTakeFirst();
    if (campaign)
      await recordCampaignEvents(
        tx,
        account_id,
        campaign,
        [{ type: "voice.campaign.started", data: {} }],
        now,
      );
    return campaign;
  });
  if (started) app.notifications.send("voice_work", String(started.trunk_id));
}
