import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { BsuidLink } from "../../audience/suppressions/link-bsuids.ts";
import { addJob } from "../../engine/add-job.ts";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { findLinksOf, findSharedLinks } from "../recipients/find-shared-links.ts";
import { skipSecondAddresses } from "../recipients/skip-second-addresses.ts";
import { completeChatCampaigns } from "./complete-chat-campaigns.ts";

/**
 * Skips the second addresses of people who have several in a campaign, by the links that are recorded now. Call it
 * after the commit that queued recipients. Never throws, since the campaign is stored: the job of scheduleSkipDuplicates
 * repeats it.
 */
export async function skipDuplicatePeople(app: App, key: CampaignKey): Promise<void> {
  const { account_id, campaign_id } = key;
  try {
    await skipDuplicatesOf(app, account_id, await findSharedLinks(app.db.pool, key));
  } catch (err) {
    app.log.error(
      { err, account_id, subject_id: campaign_id },
      "could not look for people who are in a campaign twice",
    );
  }
}

/** Adds the job chat.skip_duplicates in the transaction that queues recipients: its process may end after the commit. */
export async function scheduleSkipDuplicates(
  tx: Tx,
  { account_id, campaign_id }: CampaignKey,
  now: Date,
): Promise<void> {
  const subject = String(campaign_id);
  await addJob(tx, { account_id, kind: "chat.skip_duplicates", subject, run_at: now }, now);
}

/**
 * Runs the job chat.skip_duplicates: does the same as skipDuplicatePeople, unless the campaign has ended, and completes
 * the campaign if nothing is pending: a process may have ended after it skipped the last ones.
 */
export async function repeatSkipDuplicates(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
): Promise<void> {
  const campaign_id = Number(subject);
  const open = await findOpen(app.db.pool, [account_id, campaign_id]);
  if (open.length === 0) return;
  const links = await findSharedLinks(app.db.pool, { account_id, campaign_id });
  await skipDuplicatesOf(app, account_id, links);
  await completeChatCampaigns(app, account_id, [campaign_id]);
}

const findOpen = statement(
  "select from chat_campaigns where account_id = $1 and id = $2 and finished_at is null",
);

/**
 * Skips recipients who are tried again and whose people got the message under another address since it was first sent.
 * Call it after the commit that deferred them.
 */
export async function skipDeferredDuplicates(
  app: App,
  accountId: number,
  deferred: readonly { readonly campaign_id: number; readonly id: number }[],
): Promise<void> {
  await skipDuplicatesOf(app, accountId, await findLinksOf(app.db.pool, accountId, deferred));
}

/** Skips the second addresses of linked people, and completes the campaigns whose last recipients they were. */
export async function skipDuplicatesOf(
  app: App,
  accountId: number,
  links: readonly BsuidLink[],
): Promise<void> {
  const skipped = await skipSecondAddresses(app.db.pool, accountId, links, app.clock.now());
  if (skipped.length === 0) return;
  const campaigns = skipped.map((one) => one.campaign_id);
  await completeChatCampaigns(app, accountId, campaigns);
}
