// Campaigns are written here; what is read of them and done to them is in other files.
import type { FastifyRequest } from "fastify";
import {
  CampaignHead,
  CampaignPreview,
  ChatCampaignAnswer,
  ChatCampaignUpload,
  NewChatCampaign,
  NewGroupCampaign,
} from "../../chat/campaigns/chat-campaign-schema.ts";
import { createCampaignForGroup } from "../../chat/campaigns/create-campaign-for-group.ts";
import { createCampaignFromFile } from "../../chat/campaigns/create-campaign-from-file.ts";
import {
  createChatCampaign,
  type CampaignOwner,
} from "../../chat/campaigns/create-chat-campaign.ts";
import { campaignTimeViolations } from "../../chat/campaigns/validate-campaign.ts";
import { prepareCampaign, type PreparedCampaign } from "../../chat/campaigns/prepare-campaign.ts";
import { previewChatCampaign } from "../../chat/campaigns/preview-chat-campaign.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { bodyOfForm, digestOfForm } from "../campaign-form.ts";
import { compileValidator } from "../compile-validator.ts";
import { fieldErrors } from "../field-errors.ts";
import type { RateLimit } from "../rate-limit.ts";
import { receiveUpload } from "../receive-upload.ts";
import { route, type Call } from "../route.ts";

const campaigns = "/api/v1/chat/campaigns";
const access = { features: ["bulk_chat"], anyOf: ["chat.campaigns.create"] } as const;
const json_bytes_max = 64 * 1_048_576;
/** The parts of an upload. */
const parts = {
  file: "file",
  fields: [...Object.keys(CampaignHead.properties), "phone_column", "variables"],
};

/** One window for every way to create a campaign. */
const rate_limit: RateLimit = {
  endpoint: "chat_campaigns",
  limit_a_minute: ({ chat_writes_a_minute }) => chat_writes_a_minute,
  default_limit: 300,
};

/** With contacts, which are read apart, so that a misspelt name of theirs finds the right one. */
const isHead = compileValidator({ schema: NewChatCampaign, httpPart: "body" });

/** What is wrong with the shape of a campaign's own fields. */
function headViolations(head: unknown): FieldError[] {
  const shape = isHead(head) ? [] : fieldErrors(isHead.errors ?? []);
  const failing = new Set(shape.map(({ field }) => field));
  return [...shape, ...campaignTimeViolations(head).filter(({ field }) => !failing.has(field))];
}

/** Reads the body; the handler gets it prepared. With `listed`, its recipients are not made into lines. */
async function prepare(request: FastifyRequest, listed: boolean): Promise<Buffer> {
  const { account } = request.caller!;
  const prepared = await prepareCampaign(request.body as Buffer, account, { listed });
  const violations = [...headViolations(prepared.head), ...prepared.violations];
  if (violations.length > 0) throw invalid(violations);
  request.body = prepared;
  return Buffer.from(prepared.sha256);
}

/** What `prepare` left. */
type Prepared = PreparedCampaign & { readonly head: CampaignHead };

const write = {
  method: "POST",
  tag: "Chat campaigns",
  access,
  rate_limit,
  key_required: true,
  malformed_type: "bad-request",
  success: { 201: ChatCampaignAnswer },
} as const;

type Asked = Pick<Call<unknown, unknown, unknown>, "caller" | "actor">;

const ownerOf = ({ caller, actor }: Asked): CampaignOwner => ({
  account: caller.account,
  actor: { ...actor, user_id: caller.user_id },
});

export const chatCampaignRoutes = [
  route({
    ...write,
    url: campaigns,
    id: "createChatCampaign",
    summary: "Create a campaign and send it",
    raw_body: true,
    body_bytes_max: json_bytes_max,
    digest: (request) => prepare(request, false),
    body: NewChatCampaign,
    handle: (call) =>
      createChatCampaign(call.app, ownerOf(call), call, call.body as unknown as Prepared),
  }),
  route({
    ...write,
    url: `${campaigns}/csv`,
    id: "createChatCampaignFromCsv",
    summary: "Create a campaign from a CSV file and send it",
    multipart: true,
    body: ChatCampaignUpload,
    handle: async (call) => {
      return receiveUpload(call.caller.account.id, call.request, parts, async (upload) => {
        const { fields, file } = upload;
        const fd = file?.fd ?? null;
        if (await call.keyedBy(await digestOfForm(fields, fd))) return;
        const head = bodyOfForm(fields, CampaignHead);
        return createCampaignFromFile(call.app, ownerOf(call), call, {
          fd,
          head: head as CampaignHead,
          violations: headViolations(head),
          phone_column: fields.get("phone_column"),
          variables: fields.get("variables"),
        });
      });
    },
  }),
  route({
    ...write,
    url: `${campaigns}/group`,
    id: "createChatCampaignForGroup",
    summary: "Create a campaign for a saved group and send it",
    body: NewGroupCampaign,
    validate: async ({ body }) => campaignTimeViolations(body),
    handle: (call) => createCampaignForGroup(call.app, ownerOf(call), call, call.body),
  }),
  route({
    method: "POST",
    url: `${campaigns}/preview`,
    id: "previewChatCampaign",
    summary: "See what a campaign would come to, without creating it",
    tag: "Chat campaigns",
    access,
    malformed_type: "bad-request",
    raw_body: true,
    body_bytes_max: json_bytes_max,
    digest: (request) => prepare(request, true),
    body: NewChatCampaign,
    success: { 200: CampaignPreview },
    handle: ({ app, caller, body }) =>
      previewChatCampaign(app, caller.account, body as unknown as Prepared),
  }),
];
