import { requireCampaign } from "../../../chat/campaigns/campaign-recipients.ts";
import { searchOn } from "../../../lib/database/cursor.ts";
import {
  exportReplies,
  listReplies,
  type ReplyFilter,
} from "../../../chat/inbound/list-replies.ts";
import {
  campaignReplyQuery,
  ListedReply,
  replyFilterQuery,
  replyQuery,
} from "../../../chat/inbound/reply-schema.ts";
import { NewAnswer } from "../../../chat/messages/reply-answer.ts";
import { answerReply } from "../../../chat/single-messages/answer-reply.ts";
import { TestMessageResponse } from "../../../chat/single-messages/test-message-schema.ts";
import { openPhoneReader } from "../../../lib/chat-phone-numbers.ts";
import { isBsuid } from "../../../lib/bsuid.ts";
import { invalid, type FieldError } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import { closed, pageOf, pathId } from "../../../lib/schemas.ts";
import type { RateLimit } from "../../checks/rate-limit.ts";
import type { Caller } from "../../../accounts/caller.ts";
import type { App } from "../../../engine/app.ts";
import { route, type Access } from "../../route.ts";
import { withContactNames } from "../shared/with-contact-names.ts";
import { storeSent } from "../shared/store-sent.ts";
import { sendExport } from "../shared/send-csv.ts";

const seeReplies: Access = { features: ["bulk_chat"], anyOf: ["chat.read"] };
/** Answers bypass the number's send rate, so people write them, not machines. */
const rate_limit: RateLimit = {
  endpoint: "chat_answers",
  limit_a_minute: () => 60,
  default_limit: 60,
};
const readPhone = openPhoneReader({ valid_only: false });

type Query = {
  phone_number?: string;
  bsuid?: string;
  opted_out?: boolean;
  campaign_id?: number;
};

function readFilter({ phone_number, bsuid, opted_out, campaign_id: id }: Query): ReplyFilter {
  const campaign_id = id === undefined ? undefined : knownId(id);
  const phone = phone_number === undefined ? undefined : readPhone(phone_number);
  const violations: FieldError[] = [];
  if (phone === null)
    violations.push({
      field: "phone_number",
      reason: "is not a valid phone number with country code",
    });
  if (bsuid !== undefined && !isBsuid(bsuid))
    violations.push({ field: "bsuid", reason: "is not a valid WhatsApp user ID (BSUID)" });
  if (phone === null || violations.length > 0) throw invalid(violations);
  return { opted_out, campaign_id, phone, bsuid };
}

/** Returns a page of replies with the names of who wrote them, as far as the caller may see contacts. */
async function listNamed(
  app: Pick<App, "db">,
  caller: Caller,
  filter: ReplyFilter,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: ListedReply[]; next_cursor: string | null }> {
  const { id } = caller.account;
  const { data, next_cursor } = await listReplies(app.db.query, id, filter, at);
  const named = await withContactNames(app, caller, data, (reply) => reply.phone_number);
  return { data: named, next_cursor };
}

export const chatReplyRoutes = [
  route({
    method: "GET",
    url: "/api/v1/chat/replies",
    id: "listChatReplies",
    from_replica: true,
    summary: "List replies of customers, newest first",
    tag: "Chat replies",
    access: seeReplies,
    query: closed(replyQuery),
    success: { 200: pageOf(ListedReply) },
    handle: ({ app, caller, query }) => {
      const { limit = 50, cursor, ...filter } = query;
      const at = { limit, cursor };
      return searchOn(at, (part) => listNamed(app, caller, readFilter(filter), part));
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/chat/replies/export",
    id: "exportChatReplies",
    from_replica: true,
    summary: "Export replies of customers to CSV, newest first",
    tag: "Chat replies",
    access: { features: ["bulk_chat"], anyOf: ["chat.export"] },
    query: closed(replyFilterQuery),
    success: { 200: { contentType: "text/csv" } },
    handle: async (context) => {
      const { app, caller, query } = context;
      const chunks = exportReplies(app, caller.account.id, readFilter(query));
      return sendExport(context, { action: "chat_replies.exported", file: "replies.csv" }, chunks);
    },
  }),
  route({
    method: "POST",
    url: "/api/v1/chat/replies/:id/answers",
    id: "sendChatAnswer",
    summary: "Answer a reply with a text, within 24 hours of the person's last message",
    tag: "Chat replies",
    access: { features: ["bulk_chat"], anyOf: ["chat.campaigns.create"] },
    rate_limit,
    params: closed({ id: pathId("Reply id") }),
    body: NewAnswer,
    success: { 200: TestMessageResponse },
    handle: async (context) => {
      const { app, caller, actor, params, body, request } = context;
      const answerer = { account: caller.account, actor, key: request.keyed?.key ?? null };
      const answer = await answerReply(app, answerer, params.id, body.text);
      return storeSent(context, answer);
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/chat/campaigns/:id/replies",
    id: "listChatCampaignReplies",
    from_replica: true,
    summary: "List replies to a campaign, newest first",
    tag: "Chat replies",
    access: seeReplies,
    params: closed({ id: pathId("Campaign id") }),
    query: closed(campaignReplyQuery),
    success: { 200: pageOf(ListedReply) },
    handle: async ({ app, caller, params, query }) => {
      const { limit = 50, cursor } = query;
      const filter = { ...readFilter(query), campaign_id: params.id };
      await requireCampaign(app.db.query, {
        account_id: caller.account.id,
        campaign_id: params.id,
      });
      return searchOn({ limit, cursor }, (at) => listNamed(app, caller, filter, at));
    },
  }),
];
