import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { lockRetryableCampaign } from "../../audience/recipients/lock-campaign.ts";
import { ensureCampaignEndpoint } from "../../callbacks/endpoints/ensure-campaign-endpoint.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
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
 * when the campaign was cancelled or not started, or its recipients or the audio it plays were purged.
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
  await keepAudio(tx, account_id, id, now);
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

/** Keeps the stored audio of the campaign's plan from being purged. Refuses: conflict when it was purged already. */
async function keepAudio(tx: Tx, account_id: number, id: number, now: Date): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select distinct n.name #>> '{}' as name from voice_campaigns v
    cross join lateral jsonb_path_query(v.plan::jsonb, '$.**.audio.name') n (name)
    where v.account_id = ${account_id} and v.id = ${id}
    order by name`.execute(tx);
  if (rows.length === 0) return;
  const kept = await tx
    .updateTable("voice_audio")
    .set({ used_at: now })
    .where("account_id", "=", account_id)
    .where(
      "name",
      "in",
      rows.map(({ name }) => name),
    )
    .returning("name")
    .execute();
  if (kept.length < rows.length)
    throw new Refusal("conflict", "The audio of its archived voice file was deleted");
}
