import type { Kysely } from "kysely";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { CallType } from "../../calls/state-machine/voice-plan.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/** Returns the key of the campaign with this campaignId or UUID. Refuses: not-found. */
export async function findCampaignKey(
  db: Kysely<DB>,
  account_id: number,
  either: string,
): Promise<CampaignKey & { readonly call_type: CallType }> {
  const query = db
    .selectFrom("voice_campaigns")
    .select(["id", "call_type"])
    .where("account_id", "=", account_id);
  const named = /^[1-9][0-9]{0,14}$/.test(either)
    ? query.where("id", "=", Number(either))
    : /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(either)
      ? query.where("public_id", "=", either)
      : null;
  const campaign = await named?.executeTakeFirst();
  if (!campaign) throw notFound();
  return { account_id, campaign_id: campaign.id, call_type: campaign.call_type as CallType };
}
