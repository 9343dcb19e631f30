import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { lockRetryableCampaign } from "../../audience/recipients/lock-campaign.ts";
import { ensureCampaignEndpoint } from "../../callbacks/endpoints/ensure-campaign-endpoint.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import { addEndOfTestCall } from "./cancel-voice-campaign.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";

/** The columns of a campaign that its retry needs. */
type Campaign = {
  readonly id: number;
  readonly public_id: string;
  readonly name: string;
  readonly trunk_id: number;
  readonly callback_url: string | null;
  readonly is_test: boolean;
};

type VoiceRetryRequest = {
  readonly id: number;
  readonly outcomes: readonly string[] | null;
  readonly reasons: readonly string[] | null;
};

/**
 * Makes recipients whose last call failed due again, for one more call each; suppressions, calling windows
 * and credit are checked when it is placed. `outcomes` are dispositions of the last call, and `reasons` those that the
 * campaign's failures are counted by; a recipient matches both. Both null: those that an automatic retry would call.
 * An ended campaign runs again. Returns how many, and the trunk to notify on `voice_work`. Refuses: not-found; conflict
 * when the campaign was cancelled or not started, or its recipients were purged.
 */
export async function retryVoiceCampaign(
  tx: Tx,
  actor: Actor,
  { id, outcomes, reasons }: VoiceRetryRequest,
  now: Date,
  secrets: Secrets,
): Promise<{ readonly retried: number; readonly trunk_id: number }> {
  const { account_id } = actor;
  const campaign = await lockRetryableCampaign<Campaign>(
    tx,
    "voice_campaigns",
    ["id", "public_id", "name", "trunk_id", "callback_url", "is_test"],
    { account_id, campaign_id: id },
  );
  const { trunk_id, callback_url } = campaign;
  const { rows } = await sql<{ retried: number }>`
    select retry_failed_voice_recipients(${account_id}, ${id}, ${outcomes && [...outcomes]}::text[],
      ${reasons && [...reasons]}::text[], ${now}::timestamptz) as retried`.execute(tx);
  const { retried } = rows[0]!;
  if (retried === 0) return { retried, trunk_id };
  if (campaign.is_test) await addEndOfTestCall(tx, account_id, id, now);
  const event = { type: "voice.campaign.retried", data: { retried } } as const;
  await recordCampaignEvents(tx, account_id, campaign, [event], now);
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_campaign.retried",
    subject_id: id,
    detail: { retried, outcomes, reasons },
  });
  // The endpoint of an ended campaign is deleted once it is unused.
  if (callback_url) await ensureCampaignEndpoint(tx, account_id, callback_url, now, secrets);
  return { retried, trunk_id };
}
