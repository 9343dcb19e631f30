import Type from "typebox";
import {
  FailureCount,
  minutesQuery,
} from "../../../audience/recipients/campaign-figures-schema.ts";
import {
  ChatMinute,
  countFailures,
  pace_minutes_max,
  readPace,
} from "../../../chat/campaigns/campaign-pace.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { route, type Access } from "../../route.ts";
import { minutesBefore } from "../shared/time-range.ts";

const campaign = "/api/v1/chat/campaigns/:id";
const tag = "Chat campaigns";
const access: Access = { features: ["bulk_chat"], anyOf: ["chat.read", "chat.campaigns.manage"] };
const params = closed({ id: pathId("The campaign") });

export const chatCampaignPaceRoutes = [
  route({
    method: "GET",
    url: `${campaign}/failures`,
    id: "readChatCampaignFailures",
    summary: "Count a campaign's failed and skipped recipients by reason, at most 10,000 of each",
    tag,
    access,
    params,
    success: { 200: Type.Object({ data: Type.Array(FailureCount) }) },
    handle: async ({ app, caller, params: { id: campaign_id } }) => ({
      data: await countFailures(app.db.query, { account_id: caller.account.id, campaign_id }),
    }),
  }),
  route({
    method: "GET",
    url: `${campaign}/pace`,
    id: "readChatCampaignPace",
    summary:
      "Read what a campaign sent in each of the last minutes; minutes without messages are left out",
    tag,
    access,
    params,
    query: closed({ minutes: minutesQuery(pace_minutes_max) }),
    success: { 200: Type.Object({ data: Type.Array(ChatMinute) }) },
    handle: async ({ app, caller, params: { id: campaign_id }, query: { minutes = 60 } }) => {
      const key = { account_id: caller.account.id, campaign_id };
      const from = minutesBefore(app.clock.now(), minutes);
      return { data: await readPace(app.db.query, key, from) };
    },
  }),
];
