// The recipients of chat campaigns: list, export, and sending again.
import Type, { type Static } from "typebox";
import {
  ListedChatRecipient,
  shown_states,
} from "../../../chat/campaigns/campaign-record-schema.ts";
import {
  listRecipients,
  requireCampaign,
  type RecipientFilter,
} from "../../../chat/campaigns/campaign-recipients.ts";
import { exportChatRecipients } from "../../../chat/campaigns/export-chat-recipients.ts";
import { resendRecipient } from "../../../chat/campaigns/resend-recipient.ts";
import { wakeSenders } from "../../../chat/numbers/wake-senders.ts";
import { openPhoneReader } from "../../../lib/chat-phone-numbers.ts";
import { searchOn } from "../../../lib/database/cursor.ts";
import { invalidField } from "../../../lib/errors.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route, type Access } from "../../route.ts";
import { withContactNames } from "../shared/with-contact-names.ts";
import { sendExport } from "../shared/send-csv.ts";

const campaign = "/api/v1/chat/campaigns/:id";
const tag = "Chat campaigns";
const see: Access = { features: ["bulk_chat"], anyOf: ["chat.read", "chat.campaigns.manage"] };
const manage: Access = { features: ["bulk_chat"], anyOf: ["chat.campaigns.manage"] };
const params = closed({ id: pathId("The campaign") });

const recipientQuery = {
  state: Type.Optional(Type.Enum(shown_states, { type: "string" })),
  phone_number: Type.Optional(
    Type.String({ maxLength: 64, description: "Digits with country code" }),
  ),
  error: Type.Optional(
    Type.String({ maxLength: 64, description: "Reason of the failure, such as undeliverable" }),
  ),
};

type RecipientQuery = {
  readonly [Key in keyof typeof recipientQuery]?: Static<(typeof recipientQuery)[Key]>;
};

const readPhone = openPhoneReader({ valid_only: false });

function readRecipientFilter({ phone_number, state, error }: RecipientQuery): RecipientFilter {
  if (phone_number === undefined) return { state, error };
  const phone = readPhone(phone_number);
  if (phone === null)
    throw invalidField("phone_number", "is not a valid phone number with country code");
  return { state, error, phone };
}

export const chatCampaignRecipientRoutes = [
  route({
    method: "GET",
    url: `${campaign}/recipients`,
    id: "listChatRecipients",
    from_replica: true,
    summary: "List a campaign's recipients and their states",
    tag,
    access: see,
    params,
    query: closed({ ...recipientQuery, ...pageQuery }),
    success: { 200: pageOf(ListedChatRecipient) },
    handle: ({ app, caller, params: { id: campaign_id }, query }) => {
      const { limit = 50, cursor, ...filter } = query;
      const place = { account_id: caller.account.id, campaign_id };
      const at = { limit, cursor };
      return searchOn(at, async (part) => {
        const read = readRecipientFilter(filter);
        const { data, next_cursor } = await listRecipients(app.db.query, place, read, part);
        const named = await withContactNames(app, caller, data, (row) => row.phone_number);
        return { data: named, next_cursor };
      });
    },
  }),
  route({
    method: "GET",
    url: `${campaign}/recipients/export`,
    id: "exportChatRecipients",
    from_replica: true,
    summary: "Export a campaign's recipients to CSV",
    tag,
    access: { features: ["bulk_chat"], anyOf: ["chat.export"] },
    params,
    query: closed(recipientQuery),
    success: { 200: { contentType: "text/csv" } },
    handle: async (context) => {
      const { app, caller, query } = context;
      const { id: campaign_id } = context.params;
      const place = { account_id: caller.account.id, campaign_id };
      const filter = readRecipientFilter(query);
      await requireCampaign(app.db.query, place);
      const file = `recipients-${campaign_id}.csv`;
      const entry = { action: "chat_recipients.exported" as const, subject_id: campaign_id, file };
      return sendExport(context, entry, exportChatRecipients(app, place, filter));
    },
  }),
  route({
    method: "POST",
    url: `${campaign}/recipients/:recipientId/resend`,
    id: "resendChatRecipient",
    summary: "Resend a message of unknown outcome; the customer may receive it twice",
    tag,
    access: manage,
    params: closed({
      id: pathId("The campaign"),
      recipientId: pathId("The recipient"),
    }),
    body: closed(
      {
        may_duplicate: Type.Literal(true, {
          description: "Confirms that a second copy of the message is acceptable",
        }),
      },
      { title: "ChatResend", examples: [{ may_duplicate: true }] },
    ),
    success: { 204: Type.Null() },
    handle: async ({ app, caller, actor, params: { id: campaign_id, recipientId }, write }) => {
      const recipient = { campaign_id, id: recipientId };
      let numbers: readonly number[] = [];
      await write(async (tx) => {
        numbers = [await resendRecipient(tx, actor, recipient, app.clock.now())];
      });
      wakeSenders(app, caller.account.id, numbers);
    },
  }),
];
