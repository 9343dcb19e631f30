// Creation and preview of chat campaigns.
import {
  CampaignHead,
  CampaignPreview,
  ChatCampaignResponse,
  ChatCampaignUpload,
  NewChatCampaign,
  NewGroupCampaign,
} from "../../../chat/campaigns/chat-campaign-schema.ts";
import {
  createCampaignForGroup,
  previewCampaignForGroup,
} from "../../../chat/campaigns/create-campaign-for-group.ts";
import {
  createCampaignFromFile,
  previewCampaignFromFile,
} from "../../../chat/campaigns/create-campaign-from-file.ts";
import { createChatCampaign } from "../../../chat/campaigns/create-chat-campaign.ts";
import { campaignTimeViolations } from "../../../chat/campaigns/validate-campaign.ts";
import { prepareCampaign } from "../../../chat/campaigns/prepare-campaign.ts";
import { previewChatCampaign } from "../../../chat/campaigns/preview-chat-campaign.ts";
import { shapeChecker, type CheckedBody } from "../../checks/check-shape.ts";
import { mergeErrors } from "../../field-errors.ts";
import { bodyOfForm, parseUpload } from "../../bodies/parse-upload.ts";
import type { RateLimit } from "../../checks/rate-limit.ts";
import { route, type RequestContext, type UnparsedRequest } from "../../route.ts";

const campaigns = "/api/v1/chat/campaigns";
const access = { features: ["bulk_chat"], anyOf: ["chat.campaigns.create"] } as const;
const json_bytes_max = 64 * 1_048_576;
/** The parts of an upload. */
const parts = {
  file: "file",
  fields: [...Object.keys(CampaignHead.properties), "phone_column", "variables"],
  is_csv: true,
} as const;

/** One window for every way to create a campaign. */
const rate_limit: RateLimit = {
  endpoint: "chat_campaigns",
  limit_a_minute: ({ chat_writes_a_minute }) => chat_writes_a_minute,
  default_limit: 300,
};

/** Knows `contacts`, which are read separately, so that a misspelled name suggests it. */
const checkShape = shapeChecker(NewChatCampaign);

/** Checks the campaign's fields other than its recipients. */
function checkHead(head: unknown): CheckedBody<CampaignHead> {
  const { body, violations } = checkShape(head);
  return { body, violations: mergeErrors(violations, campaignTimeViolations(head)) };
}

/** Checks a JSON body that was read. */
function checkJson<Body extends Awaited<ReturnType<typeof prepareCampaign>>>(prepared: Body) {
  const { body: head, violations } = checkHead(prepared.head);
  return {
    body: { ...prepared, head, violations: [...violations, ...prepared.violations] },
    fingerprint: Buffer.from(prepared.sha256).toString("hex"),
  };
}

/** Receives an upload. The violations of its fields are reported together with those of its file. */
function parseFile(context: UnparsedRequest) {
  return parseUpload(context, parts, ({ fields, file }) => {
    const { body: head, violations } = checkHead(bodyOfForm(fields, CampaignHead));
    return {
      fd: file?.fd ?? null,
      head,
      violations,
      phone_column: fields.get("phone_column"),
      variables: fields.get("variables"),
    };
  });
}

const write = {
  method: "POST",
  tag: "Chat campaigns",
  access,
  rate_limit,
  key_required: true,
  malformed_type: "bad-request",
  success: { 201: ChatCampaignResponse },
} as const;

const ownerOf = ({
  caller,
  actor,
}: Pick<RequestContext<never, never, never>, "caller" | "actor">) => ({
  account: caller.account,
  actor,
});

export const chatCampaignRoutes = [
  route({
    ...write,
    url: campaigns,
    id: "createChatCampaign",
    summary: "Create a campaign and send it",
    raw_body: true,
    body_bytes_max: json_bytes_max,
    body: NewChatCampaign,
    parse: async ({ caller, request }) =>
      checkJson(await prepareCampaign(request.body as Buffer, caller.account)),
    validate: ({ body }) => body.violations,
    handle: (context) => createChatCampaign(context.app, ownerOf(context), context, context.body),
  }),
  route({
    ...write,
    url: `${campaigns}/csv`,
    id: "createChatCampaignFromCsv",
    summary: "Create a campaign from a CSV file and send it",
    multipart: true,
    body: ChatCampaignUpload,
    parse: parseFile,
    handle: (context) =>
      createCampaignFromFile(context.app, ownerOf(context), context, context.body),
  }),
  route({
    method: "POST",
    url: `${campaigns}/csv/preview`,
    id: "previewChatCampaignFromCsv",
    summary: "Preview a campaign from a CSV file without creating it",
    tag: "Chat campaigns",
    access,
    malformed_type: "bad-request",
    multipart: true,
    body: ChatCampaignUpload,
    success: { 200: CampaignPreview },
    parse: parseFile,
    handle: ({ app, caller, body }) => previewCampaignFromFile(app, caller.account, body),
  }),
  route({
    ...write,
    url: `${campaigns}/group`,
    id: "createChatCampaignForGroup",
    summary: "Create a campaign for a saved group and send it",
    body: NewGroupCampaign,
    validate: ({ body }) => campaignTimeViolations(body),
    handle: (context) =>
      createCampaignForGroup(context.app, ownerOf(context), context, context.body),
  }),
  route({
    method: "POST",
    url: `${campaigns}/group/preview`,
    id: "previewChatCampaignForGroup",
    summary: "Preview a campaign for a saved group without creating it",
    tag: "Chat campaigns",
    access,
    malformed_type: "bad-request",
    body: NewGroupCampaign,
    success: { 200: CampaignPreview },
    validate: ({ body }) => campaignTimeViolations(body),
    handle: ({ app, caller, body }) => previewCampaignForGroup(app, caller.account, body),
  }),
  route({
    method: "POST",
    url: `${campaigns}/preview`,
    id: "previewChatCampaign",
    summary: "Preview a campaign without creating it",
    tag: "Chat campaigns",
    access,
    malformed_type: "bad-request",
    raw_body: true,
    body_bytes_max: json_bytes_max,
    body: NewChatCampaign,
    success: { 200: CampaignPreview },
    parse: async ({ caller, request }) =>
      checkJson(await prepareCampaign(request.body as Buffer, caller.account, { listed: true })),
    validate: ({ body }) => body.violations,
    handle: ({ app, caller, body }) =>
      previewChatCampaign(app, caller.account, { ...body, has_recipients: body.sent > 0 }),
  }),
];
