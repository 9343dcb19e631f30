import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { App } from "../../engine/app.ts";
import { findSharedLinks } from "../recipients/find-shared-links.ts";
import { skipSecondAddresses } from "../recipients/skip-second-addresses.ts";
import { completeChatCampaigns } from "./complete-chat-campaigns.ts";

/**
 * Skips the second addresses of people who have several in a campaign, by the links that are recorded now. Call it
 * after the commit that queued recipients. Never throws, since the campaign is stored.
 */
export async function skipDuplicatePeople(app: App, key: CampaignKey): Promise<void> {
  const { account_id, campaign_id } = key;
  const { pool } = app.db;
  try {
    const links = await findSharedLinks(pool, key);
    const skipped = await skipSecondAddresses(pool, account_id, links, app.clock.now());
    if (skipped.length > 0) await completeChatCampaigns(app, account_id, [campaign_id]);
  } catch (err) {
    app.log.error(
      { err, account_id, subject_id: campaign_id },
      "could not look for people who are in a campaign twice",
    );
  }
}
