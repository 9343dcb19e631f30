// Voice campaigns are launched here; what is read of them and done to them is in other files.
import Type from "typebox";
import type { FieldError } from "../../lib/errors.ts";
import { closed, pageOf, pageQuery } from "../../lib/schemas.ts";
import { createTestCall } from "../../voice/campaigns/create-test-call.ts";
import {
  createVoiceCampaign,
  type CampaignOwner,
} from "../../voice/campaigns/create-voice-campaign.ts";
import { findCampaignPlace } from "../../voice/campaigns/find-campaign-place.ts";
import { exportVoiceRejects, listVoiceRejects } from "../../voice/campaigns/list-voice-rejects.ts";
import { previewVoiceCampaign } from "../../voice/campaigns/preview-voice-campaign.ts";
import {
  NewTestCall,
  NewVoiceCampaign,
  VoiceCampaignAnswer,
  VoiceCampaignPreview,
  VoiceCampaignUpload,
  VoiceReject,
} from "../../voice/campaigns/voice-campaign-schema.ts";
import type { AskedVoiceCampaign } from "../../voice/campaigns/with-recipients.ts";
import { asksForCsv } from "../asks-for-csv.ts";
import { bodyOfForm, digestOfForm } from "../campaign-form.ts";
import { compileValidator } from "../compile-validator.ts";
import { fieldErrors } from "../field-errors.ts";
import { receiveUpload } from "../receive-upload.ts";
import { route, type Call } from "../route.ts";
import { sendCsv } from "../send-csv.ts";

const campaigns = "/api/v1/voice/campaigns";
const access = {
  features: ["voice"],
  anyOf: ["voice.campaigns.create"],
  agent_denied: "permission-denied",
} as const;
const json_bytes_max = 16 * 1_048_576;

const isLaunch = compileValidator({ schema: NewVoiceCampaign, httpPart: "body" });

function shapeViolations(body: unknown): FieldError[] {
  return isLaunch(body) ? [] : fieldErrors(isLaunch.errors ?? []);
}

/** The parts of an upload; a list of numbers may be as long as in JSON. */
const parts = {
  file: "file",
  fields: Object.keys(NewVoiceCampaign.properties),
  fields_bytes_max: json_bytes_max,
  tells_violations: true,
} as const;

type Asked = Call<unknown, unknown, unknown>;

const ownerOf = ({ caller, actor }: Asked): CampaignOwner => ({
  account: caller.account,
  actor: { ...actor, user_id: caller.user_id },
});

/** Takes a launch in, in either form; one whose key was answered before goes no further. */
async function takeIn<Answer>(
  call: Asked,
  use: (asked: AskedVoiceCampaign) => Promise<Answer>,
): Promise<Answer | undefined> {
  const askedOf = (body: unknown, more: Omit<AskedVoiceCampaign, "body">): AskedVoiceCampaign => {
    const violations = [...more.violations, ...shapeViolations(body)];
    return { ...more, body: body as NewVoiceCampaign, violations };
  };
  if (!call.request.isMultipart())
    return use(askedOf(call.body, { violations: [], fd: null, is_form: false }));
  return receiveUpload(call.caller.account.id, call.request, parts, async (upload) => {
    const { fields, violations } = upload;
    const fd = upload.file?.fd ?? null;
    if (await call.keyedBy(await digestOfForm(fields, fd))) return undefined;
    const body = bodyOfForm(fields, NewVoiceCampaign);
    return use(askedOf(body, { violations, fd, is_form: true }));
  });
}

export const voiceCampaignRoutes = [
  route({
    method: "POST",
    url: "/api/v1/voice/voiceCampaign",
    id: "createVoiceCampaign",
    summary: "Launch a voice campaign",
    tag: "Voice",
    access,
    body_bytes_max: json_bytes_max,
    body: NewVoiceCampaign,
    form: VoiceCampaignUpload,
    success: { 201: VoiceCampaignAnswer },
    handle: (call) =>
      takeIn(call, (asked) => createVoiceCampaign(call.app, ownerOf(call), call, asked)),
  }),
  route({
    method: "POST",
    url: `${campaigns}/preview`,
    id: "previewVoiceCampaign",
    summary: "See what a voice campaign would come to, without launching it",
    tag: "Voice",
    access,
    body_bytes_max: json_bytes_max,
    body: NewVoiceCampaign,
    form: VoiceCampaignUpload,
    success: { 200: VoiceCampaignPreview },
    handle: (call) =>
      takeIn(call, (asked) => previewVoiceCampaign(call.app, call.caller.account, asked)),
  }),
  route({
    method: "POST",
    url: `${campaigns}/test-call`,
    id: "createVoiceTestCall",
    summary: "Call one number to hear what a voice campaign's recipients will",
    tag: "Voice",
    access,
    body: NewTestCall,
    success: { 201: VoiceCampaignAnswer },
    handle: (call) => createTestCall(call.app, ownerOf(call), call, call.body),
  }),
  route({
    method: "GET",
    url: `${campaigns}/:id/rejects`,
    id: "listVoiceRejects",
    summary: "List the rows that a voice campaign's launch left out, with the reasons",
    tag: "Voice",
    access: { features: ["voice"], anyOf: ["voice.campaigns.read", "voice.campaigns.manage"] },
    params: closed({
      id: Type.String({ description: "The campaign, by the id or campaignId of its launch" }),
    }),
    query: closed({
      format: Type.Optional(
        Type.Unsafe<"json" | "csv">(
          Type.String({
            enum: ["json", "csv"],
            description: "csv: all of them; as Accept: text/csv",
          }),
        ),
      ),
      ...pageQuery,
    }),
    success: {
      200: {
        content: {
          "application/json": { schema: pageOf(VoiceReject) },
          "text/csv": { schema: Type.String() },
        },
      },
    },
    handle: async ({ app, caller, params, query, request, reply }) => {
      const { limit = 50, cursor } = query;
      const place = await findCampaignPlace(app.db.query, caller.account.id, params.id);
      const format = query.format ?? (asksForCsv(request.headers.accept) ? "csv" : "json");
      if (format === "json") return listVoiceRejects(app.db.query, place, { limit, cursor });
      return sendCsv(
        reply,
        `campaign-${place.campaign_id}-rejects.csv`,
        exportVoiceRejects(app, place),
      );
    },
  }),
];
