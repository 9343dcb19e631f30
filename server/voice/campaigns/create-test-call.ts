// A test call: a campaign with one recipient that plays what a voice file's recipients would get.
import type { SourceRow } from "../../audience/intake/open-intake.ts";
import { openBatchSource } from "../../audience/recipients/recipient-source.ts";
import type { CampaignWrites } from "../../audience/recipients/write-with-recipients.ts";
import { call_outreach, isSuppressed } from "../../audience/suppressions/suppressions.ts";
import { availableCredits } from "../../credits/credits.ts";
import type { App } from "../../engine/app.ts";
import { invalid, Refusal, type FieldError } from "../../lib/errors.ts";
import { launchCampaign, type CampaignOwner } from "./create-voice-campaign.ts";
import { voice_format, type VoiceRecipient } from "./intake/recipient-format.ts";
import { findReadyFile, buildVoicePlan } from "./internal/build-voice-plan.ts";
import { planVariables } from "./internal/plan-variables.ts";
import type { NewTestCall, VoiceCampaignResponse } from "./voice-campaign-schema.ts";

/**
 * Launches a test call. Refuses, with nothing created: validation-failed, with all violations at once,
 * including a suppressed number and a variable without a value; insufficient-credit; unavailable when no
 * trunk is usable.
 */
export async function createTestCall(
  app: App,
  owner: CampaignOwner,
  writes: CampaignWrites,
  request: NewTestCall,
): Promise<VoiceCampaignResponse> {
  const { account } = owner;
  const { number, voice_file_id, call_type } = request;
  const now = app.clock.now();
  const violations: FieldError[] = [];
  const file = await findReadyFile(app.db.query, account.id, voice_file_id);
  const plan =
    typeof file === "string"
      ? file
      : await buildVoicePlan(app.db.query, account.id, file, call_type);
  if (typeof plan === "string") violations.push({ field: "voice_file_id", reason: plan });
  const phone = account.country_code + number;
  if (await isSuppressed(app.db.pool, account.id, call_outreach, { phone }, now))
    violations.push({ field: "number", reason: "is suppressed" });
  const variables = request.variables ?? {};
  const needed = typeof plan === "string" ? [] : planVariables(plan);
  for (const { name, required } of needed)
    if (required && !(Object.hasOwn(variables, name) && variables[name]!.trim()))
      violations.push({ field: `variables.${name}`, reason: "is required" });
  if (violations.length > 0 || typeof plan === "string") throw invalid(violations);
  await requireCredit(app, account.id);
  const campaign = {
    plan,
    source: { send_to: "Numbers", list: number, count: 1 },
    scheduled_at: null,
    crm_workspace_id: null,
    name: "Test call",
    voice_file_id,
    max_retry: 0,
    retry_after_minutes: 0,
    callback_url: null,
    is_test: true,
  } as const;
  const recipient = { number, phone, variables: JSON.stringify(variables) };
  const recipients = openBatchSource(voice_format, 1, () =>
    onlyRow({ row: 1, value: number, recipient }),
  );
  return launchCampaign(app, owner, writes, { campaign, recipients, now });
}

/** Refuses insufficient-credit, because lists hide test calls: a paused one would stay open. */
async function requireCredit({ db }: Pick<App, "db">, accountId: number): Promise<void> {
  if ((await availableCredits(db.query, accountId, "call")) > 0) return;
  throw new Refusal("insufficient-credit", "Insufficient call credit: the call needs 1");
}

async function* onlyRow(row: SourceRow<VoiceRecipient>) {
  yield [row];
}
