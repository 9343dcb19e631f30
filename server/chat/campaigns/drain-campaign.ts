// Cancels or skips, in batches, what a cancelled or failed campaign has not sent. Messages in
// flight finish, or return to the queue and are drained then.
import { sql } from "kysely";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { completeChatCampaigns } from "./complete-chat-campaigns.ts";
import { moveRecipients } from "../recipients/move-recipients.ts";

const batch_rows = 2_000;
/**
 * Then other jobs may run: draining a few campaigns of a million would delay every scheduled start.
 */
const run_ms_max = 5_000;
/** Messages in flight may still return to the queue. */
const look_again_ms = 1_000;
/** So may those whose sender has lost its lease, until they are settled. */
const look_again_unknown_ms = 60_000;

/**
 * Runs the drain job of a campaign: every queued and deferred recipient becomes cancelled, or
 * skipped when the campaign failed. When stopped, or after `ms_max`, the next run continues.
 */
export async function drainCampaign(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
  stopping: AbortSignal,
  ms_max = run_ms_max,
): Promise<{ again_at: Date } | void> {
  const campaign_id = Number(subject);
  const campaign = await app.db.query
    .selectFrom("chat_campaigns")
    .select(["state"])
    .where("account_id", "=", account_id)
    .where("id", "=", campaign_id)
    .executeTakeFirstOrThrow();
  if (campaign.state !== "cancelled" && campaign.state !== "failed") return;
  const how =
    campaign.state === "cancelled"
      ? ({ state: "cancelled" } as const)
      : ({ state: "skipped", error: "campaign_failed" } as const);
  const until_ms = performance.now() + ms_max;
  // One state and one batch at a time: a combined query sorts all rows for every batch (0.24 s for
  // half a million).
  for (const state of ["queued", "deferred"] as const) {
    let left = await openRecipients(app, { account_id, campaign_id, state }, 0);
    while (left.length > 0) {
      if (stopping.aborted) return { again_at: app.clock.now() };
      const moves = left.map((row) => ({ campaign_id, ...row, ...how }));
      await moveRecipients(app.db.pool, account_id, moves, app.clock.now());
      if (performance.now() > until_ms) return { again_at: app.clock.now() };
      left = await openRecipients(app, { account_id, campaign_id, state }, left.at(-1)!.id);
    }
  }
  const { open, unknown } = await countUnderWay(app, account_id, campaign_id);
  const again_ms = open > 0 ? look_again_ms : look_again_unknown_ms;
  if (open > 0 || unknown > 0) return { again_at: new Date(app.clock.now().getTime() + again_ms) };
  await completeChatCampaigns(app, account_id, [campaign_id]);
}

async function openRecipients(
  app: App,
  of: { account_id: number; campaign_id: number; state: "queued" | "deferred" },
  after: number,
) {
  return (
    app.db.query
      .selectFrom("chat_recipients")
      .select(["id", "dispatches"])
      .where("account_id", "=", of.account_id)
      .where("campaign_id", "=", of.campaign_id)
      // Written out as in the index of pending recipients, so that every plan may use it.
      .where("accepted_at", "is", null)
      .where("ended_at", "is", null)
      .where(sql<boolean>`state = ${sql.lit(of.state)}`)
      .where("id", ">", after)
      .orderBy("id")
      .limit(batch_rows)
      .execute()
  );
}

/** Uses the counts, because the sender may be marking or returning recipients at this moment. */
function countUnderWay(app: App, accountId: number, campaignId: number) {
  return app.db.query
    .selectFrom("chat_counts")
    .select(sql<number>`sum(queued + deferred + dispatching)`.as("open"))
    .select(sql<number>`sum(unknown)`.as("unknown"))
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .executeTakeFirstOrThrow();
}
