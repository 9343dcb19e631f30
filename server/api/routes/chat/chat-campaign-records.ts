// Chat campaigns after their creation: lists, details, recipients and controls.
import Type from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import type { Actor } from "../../../accounts/audit/record-audit.ts";
import { statement_seconds } from "../../../audience/intake/limits.ts";
import {
  campaign_statuses,
  CampaignDetail,
  CampaignRecord,
} from "../../../chat/campaigns/campaign-record-schema.ts";
import { findCampaign, listCampaigns } from "../../../chat/campaigns/campaign-records.ts";
import { cancelChatCampaign } from "../../../chat/campaigns/cancel-chat-campaign.ts";
import { wakeSenders } from "../../../chat/numbers/wake-senders.ts";
import { pauseChatCampaign } from "../../../chat/campaigns/pause-chat-campaign.ts";
import { resumeChatCampaign } from "../../../chat/campaigns/resume-chat-campaign.ts";
import { retryChatCampaign } from "../../../chat/campaigns/retry-chat-campaign.ts";
import { skipDuplicatePeople } from "../../../chat/campaigns/skip-duplicate-people.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import type { Tx } from "../../../lib/database/database.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import { closed, id, optional, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { searches } from "../../../lib/database/searches.ts";
import { route, type Access } from "../../route.ts";
import { readTimeRange, timeRangeQuery } from "../shared/time-range.ts";

const campaigns = "/api/v1/chat/campaigns";
const campaign = `${campaigns}/:id`;
const tag = "Chat campaigns";
const see: Access = { features: ["bulk_chat"], anyOf: ["chat.read", "chat.campaigns.manage"] };
const manage: Access = { features: ["bulk_chat"], anyOf: ["chat.campaigns.manage"] };
const params = closed({ id: pathId("The campaign") });

type Control = {
  readonly verb: "pause" | "resume" | "cancel";
  readonly summary: string;
  readonly change: (tx: Tx, actor: Actor, id: number, now: Date) => Promise<void>;
};

/** Declares a control of a campaign; it answers with the campaign after the change. */
function control({ verb, summary, change }: Control) {
  return route({
    method: "POST",
    url: `${campaign}/${verb}`,
    id: `${verb}ChatCampaign`,
    summary,
    tag,
    access: manage,
    params,
    success: { 200: CampaignDetail },
    handle: async ({ app, caller, actor, params: { id: campaignId }, write }) => {
      const now = app.clock.now();
      const accountId = caller.account.id;
      const answer = await write(async (tx) => {
        await change(tx, actor, campaignId, now);
        return findCampaign(tx, accountId, campaignId, now);
      });
      wakeSenders(app, accountId, [answer.chat_number_id]);
      if (verb === "cancel") notifyJob(app, accountId);
      return answer;
    },
  });
}

const campaignRoutes = [
  route({
    method: "GET",
    url: campaigns,
    id: "listChatCampaigns",
    from_replica: true,
    summary: "List campaigns, newest first",
    tag,
    access: see,
    query: closed({
      status: Type.Optional(Type.Enum(campaign_statuses, { type: "string" })),
      chat_number_id: Type.Optional(id("Sent from this number")),
      template_id: Type.Optional(id("With this template")),
      q: Type.Optional(Type.String({ maxLength: 100, description: "A part of the name" })),
      ...timeRangeQuery,
      ...pageQuery,
    }),
    success: { 200: pageOf(CampaignRecord) },
    handle: ({ app, caller, query }) => {
      const { status, q, chat_number_id, template_id, limit = 50, cursor } = query;
      const filter = {
        status,
        q,
        ...readTimeRange(query, caller.account.time_zone),
        chat_number_id: chat_number_id === undefined ? undefined : knownId(chat_number_id),
        template_id: template_id === undefined ? undefined : knownId(template_id),
      };
      const at = { limit, cursor, now: app.clock.now() };
      return searchOn(at, (part) => listCampaigns(app.db.query, caller.account.id, filter, part));
    },
  }),
  route({
    method: "GET",
    url: campaign,
    id: "readChatCampaign",
    summary: "Read a campaign with its counts, holds and credit",
    tag,
    access: see,
    params,
    success: { 200: CampaignDetail },
    // Sums every capture of the campaign.
    handle: ({ app, caller, params: { id: campaignId } }) =>
      searches.use(caller.account.id, () =>
        findCampaign(app.db.query, caller.account.id, campaignId, app.clock.now()),
      ),
  }),
  control({
    verb: "pause",
    summary: "Pause a campaign until it is resumed",
    change: pauseChatCampaign,
  }),
  control({
    verb: "resume",
    summary: "Resume a campaign that was paused manually or by too many errors",
    change: resumeChatCampaign,
  }),
  control({
    verb: "cancel",
    summary: "Cancel a campaign permanently; releases the credit of unsent messages",
    change: cancelChatCampaign,
  }),
];

const retryRoute = route({
  method: "POST",
  url: `${campaign}/retry`,
  id: "retryChatCampaign",
  summary: "Retry the failed recipients of a campaign; reserves a credit for each",
  tag,
  access: manage,
  key_required: true,
  params,
  body: closed(
    {
      errors: optional(
        Type.Array(Type.String({ maxLength: 64 }), {
          minItems: 1,
          maxItems: 20,
          description:
            "Only recipients with one of these errors, such as undeliverable; omitted: every failure",
        }),
      ),
      may_duplicate: optional(
        Type.Boolean({
          description:
            "True: also the messages whose outcome never arrived (outcome_unknown). A second copy is acceptable",
        }),
      ),
    },
    {
      title: "ChatRetry",
      description:
        "Which recipients are queued again. Those of unknown outcome only with may_duplicate: they may have the message",
      examples: [{ errors: ["undeliverable"] }],
    },
  ),
  success: {
    200: Type.Object(
      {
        retried: Type.Integer({ description: "Recipients that were queued again" }),
        campaign: CampaignDetail,
      },
      { title: "RetriedChatCampaign" },
    ),
  },
  validate: ({ body }) => unknownOutcomeViolations(body),
  handle: async ({ app, caller, actor, params: { id: campaignId }, body, writeWithClient }) => {
    const now = app.clock.now();
    const accountId = caller.account.id;
    const { errors = null, may_duplicate } = body;
    const failed = { id: campaignId, errors, may_duplicate: may_duplicate ?? false };
    const answer = await writeWithClient(statement_seconds, async (tx) => {
      const { retried } = await retryChatCampaign(tx, actor, failed, now);
      return { retried, campaign: await findCampaign(tx, accountId, campaignId, now) };
    });
    // Since a message failed, its person may have got it under another address.
    await skipDuplicatePeople(app, { account_id: accountId, campaign_id: campaignId });
    wakeSenders(app, accountId, [answer.campaign.chat_number_id]);
    return answer;
  },
});

/** Reports `outcome_unknown` among the errors without `may_duplicate`; the body may have any shape. */
function unknownOutcomeViolations(body: unknown): FieldError[] {
  const { errors, may_duplicate } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (may_duplicate === true) return [];
  const at = Array.isArray(errors) ? errors.indexOf("outcome_unknown") : -1;
  if (at === -1) return [];
  const reason =
    "must not be outcome_unknown without may_duplicate, because these customers may have the message already";
  return [{ field: `errors.${at}`, reason }];
}

export const chatCampaignRecordRoutes = [...campaignRoutes, retryRoute];
