// A test call: a campaign with one recipient that plays what a voice file's recipients would get.
import type { AccountDestinations } from "../../accounts/accounts/call-destinations.ts";
import type { CallingWindow } from "../../accounts/accounts/calling-window.ts";
import type { SourceRow } from "../../audience/intake/open-intake.ts";
import { openBatchSource } from "../../audience/recipients/recipient-source.ts";
import type { CampaignWrites } from "../../audience/recipients/write-with-recipients.ts";
import { call_outreach, isSuppressed } from "../../audience/suppressions/suppressions.ts";
import { callableTrunks } from "../../calls/click-to-call/callable-trunks.ts";
import { findCallCap } from "../../calls/click-to-call/find-call-cap.ts";
import { refuseBeyondCap } from "../../calls/click-to-call/refuse-beyond-cap.ts";
import { refuseDestination } from "../../calls/click-to-call/refuse-destination.ts";
import { refuseOutsideWindow } from "../../calls/click-to-call/refuse-outside-window.ts";
import {
  contactTimeZones,
  customerZones,
  type CustomerOfCall,
} from "../../calls/customer-hours.ts";
import type { VoicePlan } from "../../calls/state-machine/voice-plan.ts";
import { availableCredits } from "../../credits/credits.ts";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import { invalid, Refusal, type FieldError } from "../../lib/errors.ts";
import { findTrunks } from "../../telephony/trunks/choose-trunk.ts";
import { launchCampaign, type CampaignOwner } from "./create-voice-campaign.ts";
import { voice_format, type VoiceRecipient } from "./intake/recipient-format.ts";
import { findReadyFile, buildVoicePlan } from "./internal/build-voice-plan.ts";
import { planVariables } from "./internal/plan-variables.ts";
import type { NewTestCall, VoiceCampaignResponse } from "./voice-campaign-schema.ts";

/**
 * Launches a test call. Refuses, with nothing created: validation-failed, with all violations at once,
 * including a number that is suppressed or never called and a variable without a value; forbidden outside the
 * recipient's hours, and for a country that the account may not call; rate-limited at a cap on calls;
 * insufficient-credit; unavailable when no trunk is usable. One that is not placed in time is cancelled
 * (endTestCall).
 */
export async function createTestCall(
  app: App,
  owner: CampaignOwner,
  writes: CampaignWrites,
  request: NewTestCall,
): Promise<VoiceCampaignResponse> {
  const { account, actor } = owner;
  const { number, voice_file_id } = request;
  const now = app.clock.now();
  const phone = account.country_code + number;
  const variables = request.variables ?? {};
  const [callee, plan] = await Promise.all([
    findCallee(app, account.id, phone),
    findPlan(app, account.id, request),
  ]);
  const suppressed = await isSuppressed(app.db.pool, account.id, call_outreach, { phone }, now);
  const reason = callee.barred.to_number ?? (suppressed ? "is suppressed" : null);
  const violations = violationsOf(plan, reason, variables);
  if (violations.length > 0 || typeof plan === "string") throw invalid(violations);
  refuseOutsideWindow(callee.window, callee.time_zones, now, "number");
  refuseDestination(callee.blocker, "number");
  const cap = await findCallCap(app.db.pool, account.id, actor.token_id, [phone], now);
  refuseBeyondCap(cap, "`number`", now);
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
  const { trunks } = callee;
  return launchCampaign(app, owner, writes, { campaign, recipients, trunks, now });
}

/** Returns the plan of the call, or why the voice file has none. */
async function findPlan(
  { db: { query } }: Pick<App, "db">,
  accountId: number,
  { voice_file_id, call_type }: NewTestCall,
): Promise<VoicePlan | string> {
  const file = await findReadyFile(query, accountId, voice_file_id);
  return typeof file === "string" ? file : buildVoicePlan(query, accountId, file, call_type);
}

function violationsOf(
  plan: VoicePlan | string,
  numberReason: string | null,
  variables: Readonly<Record<string, string>>,
): FieldError[] {
  const violations: FieldError[] = [];
  if (typeof plan === "string") violations.push({ field: "voice_file_id", reason: plan });
  if (numberReason !== null) violations.push({ field: "number", reason: numberReason });
  const needed = typeof plan === "string" ? [] : planVariables(plan);
  for (const { name, required } of needed)
    if (required && !(Object.hasOwn(variables, name) && variables[name]!.trim()))
      violations.push({ field: `variables.${name}`, reason: "is required" });
  return violations;
}

/** The account's window and bounds, and the zones of its contacts with the phone. */
type Terms = CallingWindow & AccountDestinations & Pick<CustomerOfCall, "contact_time_zones">;

const findTerms = statement<Terms>(`
  select a.time_zone, a.night_calling, a.calling_from, a.calling_to, a.country_code,
    a.call_destinations_allowed as destinations_allowed, a.call_destinations as destinations,
    ${contactTimeZones("$1", "$2")} as contact_time_zones
  from accounts a where a.account_id = $1`);

/** Finds when and over which trunks the account may call the phone (E.164 digits). */
async function findCallee({ db }: Pick<App, "db">, accountId: number, phone: string) {
  const [[terms], trunks] = await Promise.all([
    findTerms(db.pool, [accountId, phone]),
    findTrunks(db.pool, [accountId, null]),
  ]);
  return {
    window: terms!,
    time_zones: customerZones({ ...terms!, to_phone: phone }),
    ...callableTrunks(terms!, trunks, { from_number: null, to_number: phone }),
  };
}

/** Refuses insufficient-credit, because lists hide test calls: a paused one would stay open. */
async function requireCredit({ db }: Pick<App, "db">, accountId: number): Promise<void> {
  if ((await availableCredits(db.query, accountId, "call")) > 0) return;
  throw new Refusal("insufficient-credit", "Insufficient call credit: the call needs 1");
}

async function* onlyRow(row: SourceRow<VoiceRecipient>) {
  yield [row];
}
