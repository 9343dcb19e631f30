// Campaigns are written here; what is read of them and done to them is in other files.
import type { FastifyRequest } from "fastify";
import {
  CampaignHead,
  ChatCampaignAnswer,
  NewChatCampaign,
} from "../../chat/chat-campaign-schema.ts";
import { createChatCampaign } from "../../chat/create-chat-campaign.ts";
import { campaignTimeFaults } from "../../chat/judge-campaign.ts";
import { prepareCampaign, type PreparedCampaign } from "../../chat/prepare-campaign.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { compileValidator } from "../compile-validator.ts";
import { fieldErrors } from "../field-errors.ts";
import type { RateLimit } from "../rate-limit.ts";
import { route } from "../route.ts";

const campaigns = "/api/v1/chat/campaigns";
const access = { feature: "bulk_chat", anyOf: ["chat.campaigns.create"] } as const;
const json_bytes_max = 64 * 1_048_576;

/** One window for every way to create a campaign. */
const rate_limit: RateLimit = {
  endpoint: "chat_campaigns",
  limit_a_minute: ({ chat_writes_a_minute }) => chat_writes_a_minute,
  default_limit: 300,
};

const isHead = compileValidator({ schema: CampaignHead, httpPart: "body" });

/** What is wrong with the shape of a campaign's own fields. */
function headFaults(head: unknown): FieldError[] {
  const shape = isHead(head) ? [] : fieldErrors(isHead.errors ?? []);
  const failing = new Set(shape.map(({ field }) => field));
  return [...shape, ...campaignTimeFaults(head).filter(({ field }) => !failing.has(field))];
}

/** Reads the body; the handler gets it prepared. With `listed`, its recipients are not made into lines. */
async function prepare(request: FastifyRequest, listed: boolean): Promise<Buffer> {
  const { account } = request.caller!;
  const prepared = await prepareCampaign(request.body as Buffer, account, { listed });
  const faults = [...headFaults(prepared.head), ...prepared.faults];
  if (faults.length > 0) throw invalid(faults);
  request.body = prepared;
  return Buffer.from(prepared.sha256);
}

/** What `prepare` left. */
type Prepared = PreparedCampaign & { readonly head: CampaignHead };

export const chatCampaignRoutes = [
  route({
    method: "POST",
    url: campaigns,
    id: "createChatCampaign",
    summary: "Create a campaign and send it",
    tag: "Chat campaigns",
    access,
    rate_limit,
    key_required: true,
    malformed_type: "bad-request",
    raw_body: true,
    body_bytes_max: json_bytes_max,
    digest: (request) => prepare(request, false),
    body: NewChatCampaign,
    success: { 201: ChatCampaignAnswer },
    handle: ({ app, caller, actor, body, write, writeWithClient }) =>
      createChatCampaign(
        app,
        { account: caller.account, actor: { ...actor, user_id: caller.user_id } },
        { write, writeWithClient },
        body as unknown as Prepared,
      ),
  }),
];
