// Voice campaigns after their launch: lists, details, recipients, calls and controls.
import Type, { type Static } from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import type { Caller } from "../../../accounts/caller.ts";
import type { Actor } from "../../../accounts/audit/record-audit.ts";
import { statement_seconds } from "../../../audience/intake/limits.ts";
import { phone_reason, readPersonPhone } from "../../../audience/intake/read-person-phone.ts";
import { CallRecord } from "../../../calls/records/call-record-schema.ts";
import { listCalls } from "../../../calls/records/call-records.ts";
import { call_types } from "../../../calls/state-machine/voice-plan.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { invalidField } from "../../../lib/errors.ts";
import { closed, id as rowId, pageOf, pageQuery } from "../../../lib/schemas.ts";
import {
  campaign_statuses,
  KeyCount,
  ListedVoiceRecipient,
  recipient_states,
  RetriedVoiceCampaign,
  VoiceCampaignRecord,
  VoiceRetry,
} from "../../../voice/campaigns/campaign-record-schema.ts";
import {
  listRecipients,
  type RecipientFilter,
} from "../../../voice/campaigns/campaign-recipients.ts";
import { findCampaign, listCampaigns } from "../../../voice/campaigns/campaign-records.ts";
import { cancelVoiceCampaign } from "../../../voice/campaigns/cancel-voice-campaign.ts";
import { countKeys } from "../../../voice/campaigns/count-keys.ts";
import { exportVoiceRecipients } from "../../../voice/campaigns/export-voice-recipients.ts";
import { findCampaignKey } from "../../../voice/campaigns/find-campaign-key.ts";
import type { OpenCampaign } from "../../../voice/campaigns/lock-open-voice-campaign.ts";
import { pauseVoiceCampaign } from "../../../voice/campaigns/pause-voice-campaign.ts";
import { resumeVoiceCampaign } from "../../../voice/campaigns/resume-voice-campaign.ts";
import { retryVoiceCampaign } from "../../../voice/campaigns/retry-voice-campaign.ts";
import type { ApiApp } from "../../api-app.ts";
import { callFilterQuery, readCallFilter } from "../shared/call-filter.ts";
import { route, type Access } from "../../route.ts";
import { withContactNames } from "../shared/with-contact-names.ts";
import { sendExport } from "../shared/send-csv.ts";

const campaigns = "/api/v1/voice/campaigns";
const campaign = `${campaigns}/:id`;
const tag = "Voice";
const see: Access = {
  features: ["voice"],
  anyOf: ["voice.campaigns.read", "voice.campaigns.manage"],
};
const manage: Access = { features: ["voice"], anyOf: ["voice.campaigns.manage"] };
const params = closed({
  id: Type.String({
    maxLength: 64,
    description: "The id or campaignId of the launch",
  }),
});

const recipientQuery = {
  state: Type.Optional(Type.Enum(recipient_states, { type: "string" })),
  reason: Type.Optional(
    Type.String({
      maxLength: 64,
      description: "Only those that were not reached for this reason, as the failures count them",
    }),
  ),
  number: Type.Optional(
    Type.String({ maxLength: 64, description: "Ten digits, or + and country code" }),
  ),
};

type RecipientQuery = {
  readonly [Key in keyof typeof recipientQuery]?: Static<(typeof recipientQuery)[Key]>;
};

function readRecipientFilter(
  { state, reason, number }: RecipientQuery,
  account: Caller["account"],
): RecipientFilter {
  if (number === undefined) return { state, reason };
  // An unescaped plus in a query arrives as a space.
  const phone = readPersonPhone(number.replace(/^ /, "+").trim(), account.country_code);
  if (phone === null) throw invalidField("number", phone_reason);
  return { state, reason, phone };
}

function findKey(app: ApiApp, { account }: Caller, either: string) {
  return findCampaignKey(app.db.query, account.id, either);
}

type Control = {
  readonly verb: "pause" | "resume" | "cancel";
  readonly summary: string;
  readonly change: (tx: Tx, actor: Actor, id: number, now: Date) => Promise<OpenCampaign>;
};

/** Declares a control of a campaign; it answers with the campaign after the change. */
function control({ verb, summary, change }: Control) {
  return route({
    method: "POST",
    url: `${campaign}/${verb}`,
    id: `${verb}VoiceCampaign`,
    summary,
    tag,
    access: manage,
    params,
    success: { 200: VoiceCampaignRecord },
    handle: async ({ app, caller, actor, params: { id: either }, write }) => {
      const now = app.clock.now();
      let trunk_id: number | undefined;
      const answer = await write(async (tx) => {
        const { campaign_id } = await findKey(app, caller, either);
        ({ trunk_id } = await change(tx, actor, campaign_id, now));
        return findCampaign(tx, actor.account_id, campaign_id, now);
      });
      if (trunk_id !== undefined) app.notifications.send("voice_work", String(trunk_id));
      if (verb === "cancel") notifyJob(app, actor.account_id);
      return answer;
    },
  });
}

const campaignRoutes = [
  route({
    method: "GET",
    url: campaigns,
    id: "listVoiceCampaigns",
    from_replica: true,
    summary: "List voice campaigns, newest first",
    tag,
    access: see,
    query: closed({
      status: Type.Optional(Type.Enum(campaign_statuses, { type: "string" })),
      call_type: Type.Optional(Type.Enum(call_types, { type: "string" })),
      voice_file_id: Type.Optional(rowId("Only campaigns with this voice file")),
      is_test: Type.Optional(
        Type.Boolean({ default: false, description: "Test calls instead of campaigns" }),
      ),
      ...pageQuery,
    }),
    success: { 200: pageOf(VoiceCampaignRecord) },
    handle: ({ app, caller, query }) => {
      const { limit = 50, cursor, ...filter } = query;
      const at = { limit, cursor, now: app.clock.now() };
      return searchOn(at, (part) => listCampaigns(app.db.query, caller.account.id, filter, part));
    },
  }),
  route({
    method: "GET",
    url: campaign,
    id: "readVoiceCampaign",
    summary: "Read a voice campaign with its counts and holds",
    tag,
    access: see,
    params,
    success: { 200: VoiceCampaignRecord },
    handle: async ({ app, caller, params: { id } }) => {
      const { account_id, campaign_id } = await findKey(app, caller, id);
      return findCampaign(app.db.query, account_id, campaign_id, app.clock.now());
    },
  }),
  control({
    verb: "pause",
    summary: "Pause a voice campaign until it is resumed; calls in progress continue",
    change: pauseVoiceCampaign,
  }),
  control({
    verb: "resume",
    summary:
      "Resume a voice campaign that was paused manually, by errors, by insufficient credit, or because its trunk " +
      "cannot be used: then it continues over another trunk, which may show another caller ID",
    change: resumeVoiceCampaign,
  }),
  control({
    verb: "cancel",
    summary: "Cancel a voice campaign permanently; calls in progress continue",
    change: cancelVoiceCampaign,
  }),
];

const retryRoute = route({
  method: "POST",
  url: `${campaign}/retry`,
  id: "retryVoiceCampaign",
  summary: "Call the failed recipients of a voice campaign once more",
  tag,
  access: manage,
  key_required: true,
  params,
  body: VoiceRetry,
  success: { 200: RetriedVoiceCampaign },
  handle: async ({ app, caller, actor, params: { id: either }, body, writeWithClient }) => {
    const now = app.clock.now();
    let trunk_id: number | undefined;
    const answer = await writeWithClient(statement_seconds, async (tx) => {
      const { campaign_id: id } = await findKey(app, caller, either);
      const done = await retryVoiceCampaign(
        tx,
        actor,
        { id, outcomes: body.outcomes ?? null, reasons: body.reasons ?? null },
        now,
        app.secrets,
      );
      ({ trunk_id } = done);
      const { retried } = done;
      return { retried, campaign: await findCampaign(tx, actor.account_id, id, now) };
    });
    if (trunk_id !== undefined) app.notifications.send("voice_work", String(trunk_id));
    return answer;
  },
});

const reportRoutes = [
  route({
    method: "GET",
    url: `${campaign}/recipients`,
    id: "listVoiceRecipients",
    from_replica: true,
    summary: "List a voice campaign's recipients and their states",
    tag,
    access: see,
    params,
    query: closed({ ...recipientQuery, ...pageQuery }),
    success: { 200: pageOf(ListedVoiceRecipient) },
    handle: async ({ app, caller, params: { id }, query }) => {
      const { limit = 50, cursor, ...filter } = query;
      const at = { limit, cursor, now: app.clock.now() };
      const place = await findKey(app, caller, id);
      const read = readRecipientFilter(filter, caller.account);
      return searchOn(at, async (part) => {
        const { data, next_cursor } = await listRecipients(app.db.query, place, read, part);
        return { data: await withContactNames(app, caller, data, (row) => row.phone), next_cursor };
      });
    },
  }),
  route({
    method: "GET",
    url: `${campaign}/recipients/export`,
    id: "exportVoiceRecipients",
    from_replica: true,
    summary: "Export a voice campaign's recipients to CSV",
    tag,
    access: { features: ["voice"], anyOf: ["voice.campaigns.export"] },
    params,
    query: closed(recipientQuery),
    success: { 200: { contentType: "text/csv" } },
    handle: async (context) => {
      const { app, caller, query } = context;
      const filter = readRecipientFilter(query, caller.account);
      const place = await findKey(app, caller, context.params.id);
      const { campaign_id: subject_id } = place;
      const entry = { action: "voice_recipients.exported" as const, subject_id };
      const file = `recipients-${subject_id}.csv`;
      return sendExport(context, { ...entry, file }, exportVoiceRecipients(app, place, filter));
    },
  }),
  route({
    method: "GET",
    url: `${campaign}/attempts`,
    id: "listVoiceAttempts",
    from_replica: true,
    summary: "List a voice campaign's calls, newest first",
    tag,
    access: see,
    params,
    query: closed({ status: callFilterQuery.status, ...pageQuery }),
    success: { 200: pageOf(CallRecord) },
    handle: async ({ app, caller, params: { id }, query }) => {
      const { limit = 50, cursor, ...rest } = query;
      const { account_id, campaign_id } = await findKey(app, caller, id);
      const filter = { ...readCallFilter(rest, caller.account), campaign_id };
      return searchOn({ limit, cursor }, (at) => listCalls(app.db.query, account_id, filter, at));
    },
  }),
  route({
    method: "GET",
    url: `${campaign}/keys`,
    id: "readVoiceKeys",
    summary: "Count the keys pressed in a voice campaign's calls",
    tag,
    access: see,
    params,
    success: { 200: Type.Object({ data: Type.Array(KeyCount) }, { title: "KeyCountList" }) },
    handle: async ({ app, caller, params: { id } }) => ({
      data: await countKeys(app.db.query, await findKey(app, caller, id)),
    }),
  }),
];

export const voiceCampaignRecordRoutes = [...campaignRoutes, retryRoute, ...reportRoutes];
