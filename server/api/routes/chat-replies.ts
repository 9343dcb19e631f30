import { requireCampaign } from "../../chat/campaign-recipients.ts";
import { listReplies, type ReplyFilter } from "../../chat/list-replies.ts";
import { campaignReplyQuery, ReplyAnswer, replyQuery } from "../../chat/reply-schema.ts";
import { openPhoneReader } from "../../lib/chat-phone-numbers.ts";
import { invalidField } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { closed, pageOf, pathId } from "../../lib/schemas.ts";
import { route, type Access } from "../route.ts";

const seeReplies: Access = { features: ["bulk_chat"], anyOf: ["chat.read"] };
const readPhone = openPhoneReader({ valid_only: false });

function readFilter(query: { phone_number?: string; opted_out?: boolean }): ReplyFilter {
  const { phone_number, opted_out } = query;
  if (phone_number === undefined) return { opted_out };
  const phone = readPhone(phone_number);
  if (phone === null)
    throw invalidField("phone_number", "is no phone number with its country code");
  return { opted_out, phone };
}

export const chatReplyRoutes = [
  route({
    method: "GET",
    url: "/api/v1/chat/replies",
    id: "listChatReplies",
    summary: "List what customers replied, newest first",
    tag: "Chat replies",
    access: seeReplies,
    query: closed(replyQuery),
    success: { 200: pageOf(ReplyAnswer) },
    handle: ({ app, caller, query }) => {
      const { campaign_id, limit = 50, cursor } = query;
      const filter = {
        ...readFilter(query),
        campaign_id: campaign_id === undefined ? undefined : knownId(campaign_id),
      };
      return listReplies(app.db.query, caller.account.id, filter, { limit, cursor });
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/chat/campaigns/:id/replies",
    id: "listChatCampaignReplies",
    summary: "List what customers replied to a campaign's messages, newest first",
    tag: "Chat replies",
    access: seeReplies,
    params: closed({ id: pathId("Campaign id") }),
    query: closed(campaignReplyQuery),
    success: { 200: pageOf(ReplyAnswer) },
    handle: async ({ app, caller, params, query }) => {
      const { limit = 50, cursor } = query;
      const filter = { ...readFilter(query), campaign_id: params.id };
      await requireCampaign(app.db.query, {
        account_id: caller.account.id,
        campaign_id: params.id,
      });
      return listReplies(app.db.query, caller.account.id, filter, { limit, cursor });
    },
  }),
];
