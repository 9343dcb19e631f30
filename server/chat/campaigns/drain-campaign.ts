// Takes back what a cancelled or failed campaign has not sent, in batches: what a sender has under way
// ends by itself, or comes back and is taken then.
import { sql } from "kysely";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { completeCampaigns } from "./complete-campaigns.ts";
import { moveRecipients } from "../recipients/move-recipients.ts";

const batch_rows = 2_000;
/** Then others' jobs have their turn: a few campaigns of a million would keep every scheduled start waiting. */
const run_ms_max = 5_000;
/** What is under way may still come back to be sent later. */
const look_again_ms = 1_000;

/**
 * The job chat.wind_down: every queued and deferred recipient becomes cancelled, or skipped when the
 * campaign failed. Stopped on the way, or after `ms_max`, it goes on with its next run.
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
  // Each state by itself and each batch behind the last: asked for together they were all sorted for
  // every batch, 0.24 s of half a million.
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
  if (await isUnderWay(app, account_id, campaign_id))
    return { again_at: new Date(app.clock.now().getTime() + look_again_ms) };
  await completeCampaigns(app, account_id, [campaign_id]);
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
      // Spelt out, so that every plan may use the index of the open ones.
      .where(sql<boolean>`state = ${sql.lit(of.state)}`)
      .where("id", ">", after)
      .orderBy("id")
      .limit(batch_rows)
      .execute()
  );
}

/** By the counts: the sender may be marking some at this moment, or giving some back. */
async function isUnderWay(app: App, accountId: number, campaignId: number): Promise<boolean> {
  const { open } = await app.db.query
    .selectFrom("chat_counts")
    .select(sql<number>`sum(queued + deferred + dispatching)`.as("open"))
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .executeTakeFirstOrThrow();
  return open > 0;
}
