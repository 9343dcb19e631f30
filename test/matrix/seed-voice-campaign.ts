import type { TestApi } from "../support/api.ts";
import type { TestAccount } from "../support/account-factory.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../support/voice-factory.ts";
import type { Ids } from "./seed-ids.ts";

/** Creates a running campaign with a menu and two recipients: one recorded a message, the other waits. */
export async function seedVoiceCampaign(
  { app }: TestApi,
  account: TestAccount,
  mark: string,
): Promise<Pick<Ids, "voice_campaign_id" | "voice_call_id">> {
  const { id: trunk_id } = await app.db.query
    .selectFrom("trunks")
    .select("id")
    .where("only_account_id", "=", account.account_id)
    .executeTakeFirstOrThrow();
  const campaign = await makeVoiceCampaign(app, account, {
    campaign: { name: `${mark} campaign`, call_type: "obd_ivr", trunk_id },
    recipients: [{}, { state: "answered", variables: JSON.stringify({ name: `${mark} name` }) }],
  });
  const voice_call_id = await makeVoiceCall(app, account, campaign, {
    recipient_id: 2,
    call: { collected: JSON.stringify({ city: `${mark} city` }) },
    steps: [{ node: `${mark} node`, key: "1" }],
    messages: [{ recording: `${mark}-message`, node: `${mark} node`, state: "ready" }],
  });
  return { voice_campaign_id: campaign.id, voice_call_id };
}
