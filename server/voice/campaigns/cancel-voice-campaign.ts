// Cancels voice campaigns: by request, and test calls that are not placed in time.
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob, notifyJob } from "../../engine/add-job.ts";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import type { Tx } from "../../lib/database/database.ts";
import { describeSpan } from "../../lib/tracing/tracing.ts";
import { liftHolds } from "./holds.ts";
import { lockOpenVoiceCampaign, type OpenCampaign } from "./lock-open-voice-campaign.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";
import { test_call_minutes_max } from "./voice-campaign-schema.ts";

/**
 * Cancels a campaign permanently. After the commit no recipient is claimed any more, and the job
 * voice.drain_campaign cancels those that were not called; send its notification after the commit. Calls in
 * progress continue. Refuses: not-found; conflict when the campaign has ended.
 */
export async function cancelVoiceCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<OpenCampaign> {
  const { account_id } = actor;
  const campaign = await lockOpenVoiceCampaign(tx, account_id, id, "cancelled");
  await cancelLockedCampaign(tx, account_id, campaign, now);
  await recordAudit(tx, actor, { at: now, action: "voice_campaign.cancelled", subject_id: id });
  return campaign;
}

/** How long after a call that is in progress it is checked again: it may not have been dialed. */
const again_ms = 60_000;

/** Adds the job that cancels a test call unless it is placed in time from now on, in the transaction of its launch or retry. */
export async function addEndOfTestCall(
  tx: Tx,
  account_id: number,
  campaign_id: number,
  now: Date,
): Promise<void> {
  const run_at = new Date(now.getTime() + test_call_minutes_max * 60_000);
  const job = { account_id, kind: "voice.end_test_call", subject: String(campaign_id) } as const;
  // An open job of the launch keeps its earlier time.
  await addJob(tx, { ...job, run_at, payload: { until: run_at } }, now);
}

/**
 * Runs the job voice.end_test_call: cancels a test call that was not placed in time, for example because its trunk was
 * throttled or the recipient's hours have ended. Whoever listens to the content does so now, not the next morning.
 */
export async function endTestCall(
  app: App,
  { account_id, subject, payload }: Pick<Job, "account_id" | "subject" | "payload">,
): Promise<{ again_at: Date } | void> {
  const now = app.clock.now();
  const until = new Date((payload as { until: string }).until);
  if (until > now) return { again_at: until };
  const campaign_id = Number(subject);
  describeSpan({ "trunkline.campaign.id": campaign_id });
  const result = await app.db.query.transaction().execute(async (tx) => {
    // Until the commit no node leader claims the recipient.
    const campaign = await tx
      .selectFrom("voice_campaigns")
      .select(["id", "public_id", "name"])
      .where("account_id", "=", account_id)
      .where("id", "=", campaign_id)
      .where("state", "=", "running")
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!campaign) return "ended";
    const recipient = await tx
      .selectFrom("voice_recipients")
      .select(["state", "callbacks"])
      .where("account_id", "=", account_id)
      .where("campaign_id", "=", campaign_id)
      .executeTakeFirst();
    if (recipient?.state === "calling") return "calling";
    const isOpen = recipient?.state === "waiting" || recipient?.state === "synthesizing";
    // A callback that was asked for is placed when it was promised.
    if (!isOpen || recipient.callbacks > 0) return "ended";
    await cancelLockedCampaign(tx, account_id, campaign, now);
    return "cancelled";
  });
  if (result === "cancelled") notifyJob(app, account_id);
  if (result === "calling") return { again_at: new Date(now.getTime() + again_ms) };
}

/**
 * Cancels a campaign that the caller has locked. After the commit no recipient is claimed any more, and the job
 * voice.drain_campaign cancels those that were not called; send its notification after the commit.
 */
async function cancelLockedCampaign(
  tx: Tx,
  account_id: number,
  campaign: Pick<OpenCampaign, "id" | "public_id" | "name">,
  now: Date,
): Promise<void> {
  const { id } = campaign;
  await liftHolds(tx, { account_id, campaign_id: id });
  await tx
    .updateTable("voice_campaigns")
    .set({ state: "cancelled" })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const job = {
    account_id,
    kind: "voice.drain_campaign",
    subject: String(id),
    run_at: now,
  } as const;
  await addJob(tx, job, now);
  await recordCampaignEvents(
    tx,
    account_id,
    campaign,
    [{ type: "voice.campaign.cancelled", data: {} }],
    now,
  );
}
