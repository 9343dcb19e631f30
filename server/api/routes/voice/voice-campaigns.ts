// Launch, preview and rejected rows of voice campaigns.
import Type from "typebox";
import { closed, pageOf, pageQuery } from "../../../lib/schemas.ts";
import { createTestCall } from "../../../voice/campaigns/create-test-call.ts";
import { createVoiceCampaign } from "../../../voice/campaigns/create-voice-campaign.ts";
import { findCampaignKey } from "../../../voice/campaigns/find-campaign-key.ts";
import {
  exportVoiceRejects,
  listVoiceRejects,
} from "../../../voice/campaigns/list-voice-rejects.ts";
import { previewVoiceCampaign } from "../../../voice/campaigns/preview-voice-campaign.ts";
import {
  NewTestCall,
  NewVoiceCampaign,
  VoiceCampaignResponse,
  VoiceCampaignPreview,
  VoiceCampaignUpload,
  VoiceReject,
} from "../../../voice/campaigns/voice-campaign-schema.ts";
import type { VoiceLaunchRequest } from "../../../voice/campaigns/with-validated-launch.ts";
import { acceptsCsv } from "../shared/accepts-csv.ts";
import { shapeChecker } from "../../checks/check-shape.ts";
import { bodyOfForm, parseUpload } from "../../bodies/parse-upload.ts";
import { route, type RequestContext, type ParsedBody, type UnparsedRequest } from "../../route.ts";
import { sendExport } from "../shared/send-csv.ts";

const campaigns = "/api/v1/voice/campaigns";
const access = {
  features: ["voice"],
  anyOf: ["voice.campaigns.create"],
  agent_denied: "permission-denied",
} as const;
const json_bytes_max = 16 * 1_048_576;

const checkShape = shapeChecker(NewVoiceCampaign);

/** The parts of an upload; a list of numbers may be as long as in a JSON body. */
const parts = {
  file: "file",
  fields: Object.keys(NewVoiceCampaign.properties),
  fields_bytes_max: json_bytes_max,
  collects_violations: true,
  is_csv: true,
} as const;

/** Reads a launch from JSON or multipart/form-data; its violations are reported with those of its recipients. */
async function parseLaunch(context: UnparsedRequest): Promise<ParsedBody<VoiceLaunchRequest>> {
  const { request } = context;
  if (request.isMultipart())
    return parseUpload(context, parts, ({ fields, file, violations }) => {
      const checked = checkShape(bodyOfForm(fields, NewVoiceCampaign));
      const all = [...violations, ...checked.violations];
      return { body: checked.body, violations: all, fd: file?.fd ?? null, is_form: true };
    });
  const { body, violations } = checkShape(request.body);
  return { body: { body, violations, fd: null, is_form: false }, fingerprint: request.body };
}

const ownerOf = ({
  caller,
  actor,
}: Pick<RequestContext<never, never, never>, "caller" | "actor">) => ({
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
    success: { 201: VoiceCampaignResponse },
    parse: parseLaunch,
    handle: (context) => createVoiceCampaign(context.app, ownerOf(context), context, context.body),
  }),
  route({
    method: "POST",
    url: `${campaigns}/preview`,
    id: "previewVoiceCampaign",
    summary: "Preview a voice campaign without launching it",
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
    summary: "Place a test call to one number",
    description:
      "Refused outside the recipient's calling hours and for a country that the account may not call (403, with the field in errors), for a number that is never called (422), and at a cap on calls (429).",
    tag: "Voice",
    access,
    body: NewTestCall,
    success: { 201: VoiceCampaignResponse },
    handle: (context) => createTestCall(context.app, ownerOf(context), context, context.body),
  }),
  route({
    method: "GET",
    url: `${campaigns}/:id/rejects`,
    id: "listVoiceRejects",
    from_replica: true,
    summary: "List the rejected rows of a voice campaign, with the reasons",
    tag: "Voice",
    access: { features: ["voice"], anyOf: ["voice.campaigns.read", "voice.campaigns.manage"] },
    params: closed({
      id: Type.String({ description: "The id or campaignId of the launch" }),
    }),
    query: closed({
      format: Type.Optional(
        Type.Unsafe<"json" | "csv">(
          Type.String({
            enum: ["json", "csv"],
            description: "csv: all of them; the same as Accept: text/csv",
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
    handle: async (context) => {
      const { app, caller, params, query, request } = context;
      const { limit = 50, cursor } = query;
      const place = await findCampaignKey(app.db.query, caller.account.id, params.id);
      const format = query.format ?? (acceptsCsv(request.headers.accept) ? "csv" : "json");
      if (format === "json") return listVoiceRejects(app.db.query, place, { limit, cursor });
      const entry = {
        action: "voice_rejects.exported",
        subject_id: place.campaign_id,
        file: `campaign-${place.campaign_id}-rejects.csv`,
      } as const;
      return sendExport(context, entry, exportVoiceRejects(app, place));
    },
  }),
];
