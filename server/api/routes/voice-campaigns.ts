// Voice campaigns are launched here; what is read of them and done to them is in other files.
import Type from "typebox";
import { closed, pageOf, pageQuery } from "../../lib/schemas.ts";
import { createTestCall } from "../../voice/campaigns/create-test-call.ts";
import { createVoiceCampaign } from "../../voice/campaigns/create-voice-campaign.ts";
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
import { shapeChecker } from "../check-shape.ts";
import { bodyOfForm, parseUpload } from "../parse-upload.ts";
import { route, type Call, type ParsedBody, type UnparsedCall } from "../route.ts";
import { sendCsv } from "../send-csv.ts";

const campaigns = "/api/v1/voice/campaigns";
const access = {
  features: ["voice"],
  anyOf: ["voice.campaigns.create"],
  agent_denied: "permission-denied",
} as const;
const json_bytes_max = 16 * 1_048_576;

const checkShape = shapeChecker(NewVoiceCampaign);

/** The parts of an upload; a list of numbers may be as long as in JSON. */
const parts = {
  file: "file",
  fields: Object.keys(NewVoiceCampaign.properties),
  fields_bytes_max: json_bytes_max,
  collects_violations: true,
} as const;

/** Reads a launch in either form. Its violations are reported together with those of its recipients. */
async function parseLaunch(call: UnparsedCall): Promise<ParsedBody<AskedVoiceCampaign>> {
  const { request } = call;
  if (request.isMultipart())
    return parseUpload(call, parts, ({ fields, file, violations }) => {
      const checked = checkShape(bodyOfForm(fields, NewVoiceCampaign));
      const violations = [...violations, ...checked.violations];
      return { body: checked.body, violations, fd: file?.fd ?? null, is_form: true };
    });
  const { body, violations: violations } = checkShape(request.body);
  return { body: { body, violations, fd: null, is_form: false }, fingerprint: request.body };
}

const ownerOf = ({ caller, actor }: Pick<Call<never, never, never>, "caller" | "actor">) => ({
  account: caller.account,
  actor,
});

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
    parse: parseLaunch,
    handle: (call) => createVoiceCampaign(call.app, ownerOf(call), call, call.body),
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
    parse: parseLaunch,
    handle: ({ app, caller, body }) => previewVoiceCampaign(app, caller.account, body),
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
