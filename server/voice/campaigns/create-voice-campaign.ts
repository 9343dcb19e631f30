// Launches a voice campaign (contract 4.3): stores its recipients, plan and events in one transaction.
// Credit is not checked here: a campaign without credit pauses.
import { sql } from "kysely";
import type { Caller } from "../../accounts/caller.ts";
import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import type { IntakeSummary, RecipientSource } from "../../audience/recipients/recipient-source.ts";
import {
  writeWithRecipients,
  type CampaignWrites,
  type RecipientTarget,
} from "../../audience/recipients/write-with-recipients.ts";
import { ensureCampaignEndpoint } from "../../callbacks/endpoints/ensure-campaign-endpoint.ts";
import { addJob } from "../../engine/add-job.ts";
import type { App } from "../../engine/app.ts";
import type { Tx } from "../../lib/database/database.ts";
import { describeSpan } from "../../lib/tracing/tracing.ts";
import type { TrunkOnNode } from "../../telephony/trunks/choose-trunk.ts";
import {
  prefixOf,
  voice_format,
  type RecipientTerms,
  type VoiceRecipient,
} from "./intake/recipient-format.ts";
import { addEndOfTestCall } from "./cancel-voice-campaign.ts";
import { findTimeZones, insertRecipients, insertRejects } from "./intake/store-recipients.ts";
import { noRecipients } from "./internal/no-recipients.ts";
import { requireTrunk, type ChosenTrunk } from "./internal/require-trunk.ts";
import { recordCampaignEvents, type NewCampaignEvent } from "./internal/record-campaign-event.ts";
import type { NewVoiceCampaign, VoiceCampaignResponse } from "./voice-campaign-schema.ts";
import {
  withValidatedLaunch,
  type VoiceLaunchRequest,
  type VoiceLaunch,
} from "./with-validated-launch.ts";

/** The account and the user that launch a campaign. */
export type CampaignOwner = {
  readonly account: Caller["account"];
  readonly actor: UserActor;
};

/**
 * Creates a campaign from a launch by JSON or form. Refuses, with nothing created: validation-failed, with
 * all violations at once; unavailable when no trunk is usable or too many large campaigns are queued.
 */
export async function createVoiceCampaign(
  app: App,
  owner: CampaignOwner,
  writes: CampaignWrites,
  request: VoiceLaunchRequest,
): Promise<VoiceCampaignResponse> {
  const now = app.clock.now();
  return withValidatedLaunch(app, owner.account, request, now, (launch, recipients) => {
    const campaign = campaignOf(request.body, launch);
    return launchCampaign(app, owner, writes, { campaign, recipients, now });
  });
}

/** A validated campaign to launch. */
export type Campaign = VoiceLaunch & {
  readonly name: string;
  readonly voice_file_id: number;
  readonly max_retry: number;
  readonly retry_after_minutes: number;
  readonly callback_url: string | null;
  readonly is_test: boolean;
};

function campaignOf(body: NewVoiceCampaign, launch: VoiceLaunch): Campaign {
  const max_retry = body.max_retry ?? 0;
  return {
    ...launch,
    name: body.campaign_name,
    voice_file_id: body.voice_file_id,
    max_retry,
    retry_after_minutes: max_retry > 0 ? (body.retry_after ?? 0) : 0,
    callback_url: body.callback_url ?? null,
    is_test: false,
  };
}

type Launch = {
  readonly campaign: Campaign;
  readonly recipients: RecipientSource<VoiceRecipient>;
  /** The trunks to choose from; omitted: all of the account. */
  readonly trunks?: readonly TrunkOnNode[];
  readonly now: Date;
};

/** Launches a validated campaign. Refuses: validation-failed (no recipients), unavailable. */
export async function launchCampaign(
  app: App,
  { actor }: CampaignOwner,
  writes: CampaignWrites,
  { campaign, recipients, trunks, now }: Launch,
): Promise<VoiceCampaignResponse> {
  const { account_id } = actor;
  const trunk = await requireTrunk(app.db.query, account_id, app.random(), trunks);
  const terms: RecipientTerms = {
    account_id,
    campaign_id: await nextCampaignId(app),
    state: campaign.plan.content.call_type === "obd_smartvoice" ? "synthesizing" : "waiting",
    due_at: (campaign.scheduled_at ?? now).toISOString(),
  };
  describeSpan({ "trunkline.campaign.id": terms.campaign_id });
  const target: RecipientTarget<VoiceRecipient> = {
    copy_sql: voice_format.copy_sql,
    prefix: prefixOf(terms),
    insert: (tx, few) => insertRecipients(tx, terms, few),
  };
  const answer = await writeWithRecipients(writes, recipients, target, (tx, store) =>
    writeCampaign(tx, actor, { campaign, terms, trunk, now }, store, app.secrets),
  );
  if (!campaign.scheduled_at) app.notifications.send("voice_work", String(trunk.trunk_id));
  return answer;
}

type PreparedCampaign = {
  readonly campaign: Campaign;
  readonly terms: RecipientTerms;
  readonly trunk: ChosenTrunk;
  readonly now: Date;
};

/** Writes in foreign key order; the callback endpoint comes last, because other launches wait for its lock. */
async function writeCampaign(
  tx: Tx,
  actor: CampaignOwner["actor"],
  prepared: PreparedCampaign,
  store: () => Promise<IntakeSummary>,
  secrets: App["secrets"],
): Promise<VoiceCampaignResponse> {
  const { campaign, terms, now } = prepared;
  const { account_id, campaign_id, state } = terms;
  await tx
    .insertInto("call_campaigns")
    .values({
      account_id,
      id: campaign_id,
      kind: "voice",
      created_by: actor.user_id,
      token_id: actor.token_id,
      created_at: now,
    })
    .execute();
  const summary = await store();
  if (summary.valid === 0) throw noRecipients(campaign.source.send_to, summary);
  const public_id = await insertCampaign(tx, actor, prepared, summary);
  await insertRejects(tx, terms, summary.rejects);
  await tx
    .insertInto("voice_counts")
    .values({ account_id, campaign_id, slot: 9, [state]: summary.valid })
    .execute();
  await recordLaunch(tx, actor, prepared, { public_id, summary });
  const { callback_url } = campaign;
  if (callback_url) await ensureCampaignEndpoint(tx, account_id, callback_url, now, secrets);
  return { success: true, id: public_id, campaignId: campaign_id };
}

/** Records the job that starts a scheduled campaign or ends a test call, the events and the audit entry. */
async function recordLaunch(
  tx: Tx,
  actor: CampaignOwner["actor"],
  { campaign, terms, now }: PreparedCampaign,
  { public_id, summary }: { readonly public_id: string; readonly summary: IntakeSummary },
): Promise<void> {
  const { account_id, campaign_id } = terms;
  const { name, scheduled_at } = campaign;
  const { valid: total, invalid: rejected, duplicate: duplicates } = summary;
  const subject = String(campaign_id);
  if (scheduled_at) {
    const job = {
      account_id,
      kind: "voice.start_campaign",
      subject,
      run_at: scheduled_at,
    } as const;
    await addJob(tx, job, now);
  }
  if (campaign.is_test) await addEndOfTestCall(tx, account_id, campaign_id, now);
  const launched = { id: campaign_id, public_id, name };
  const data = { total, rejected, duplicates, scheduled_at: scheduled_at?.toISOString() ?? null };
  const events: NewCampaignEvent[] = [{ type: "voice.campaign.created", data }];
  if (!scheduled_at) events.push({ type: "voice.campaign.started", data: {} });
  await recordCampaignEvents(tx, account_id, launched, events, now);
  await recordAudit(tx, actor, {
    at: now,
    action: campaign.is_test ? "voice_test.called" : "voice_campaign.created",
    subject_id: campaign_id,
    detail: { total },
  });
}

/** Draws the id before the insert, because COPY lines contain it and another thread may write them. */
async function nextCampaignId({ db }: Pick<App, "db">): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('call_campaigns', 'id')) as id`.execute(db.query);
  return rows[0]!.id;
}

async function insertCampaign(
  tx: Tx,
  actor: CampaignOwner["actor"],
  { campaign, terms, trunk, now }: PreparedCampaign,
  { valid, invalid, duplicate }: IntakeSummary,
): Promise<string> {
  const { plan, source, scheduled_at, ...fields } = campaign;
  const time_zones = await findTimeZones(tx, terms, valid);
  const { public_id } = await tx
    .insertInto("voice_campaigns")
    .values({
      ...fields,
      account_id: terms.account_id,
      id: terms.campaign_id,
      plan: JSON.stringify(plan),
      call_type: plan.content.call_type,
      send_to: source.send_to,
      group_id: source.send_to === "Group" ? source.group_id : null,
      trunk_id: trunk.trunk_id,
      caller_id: trunk.caller_id,
      launch_drivers: [...new Set(trunk.shares.map(({ driver }) => driver))],
      state: scheduled_at ? "scheduled" : "running",
      scheduled_at,
      time_zones,
      total: valid,
      rejected: invalid,
      duplicates: duplicate,
      created_by: actor.user_id,
      created_at: now,
      started_at: scheduled_at ? null : now,
    })
    .returning("public_id")
    .executeTakeFirstOrThrow();
  return public_id;
}
