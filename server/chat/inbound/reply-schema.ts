// The API schema of a customer's message to one of the account's numbers.
import Type, { type Static } from "typebox";
import { id, nullable, pageQuery, timestamp } from "../../lib/schemas.ts";
import { ReplyAnswer } from "../messages/reply-answer.ts";

export const ReplyResponse = Type.Object(
  {
    id: id("Reply id"),
    chat_number_id: id("The number it was sent to"),
    phone_number: nullable(
      Type.String({
        description: "Who sent it: E.164 digits, without a plus; null while WhatsApp withholds it",
      }),
    ),
    type: Type.String({
      description: "text, button, interactive, image, … as the provider names it",
    }),
    text: nullable(Type.String()),
    payload: nullable(Type.String({ description: "Of the button or the row that was chosen" })),
    campaign_id: nullable(id("Whose message it answers; null where that is not known")),
    recipient_id: nullable(id("The recipient of that message")),
    opted_out: Type.Boolean({ description: "Whether it opted out, by a stop word" }),
    received_at: timestamp("UTC, by the provider's clock"),
    bsuid: nullable(
      Type.String({ description: "Who sent it: WhatsApp's business-scoped user ID, where known" }),
    ),
    answers: Type.Array(ReplyAnswer, {
      description: "What users of the account answered, oldest first",
    }),
    content: Type.Unknown({
      description:
        "What it contains besides its text, as the provider sends it: a media ID, location, contacts, order, reaction, …; null for a text",
    }),
  },
  { title: "ChatReply" },
);
export type ReplyResponse = Static<typeof ReplyResponse>;

/** A reply in a list. */
export const ListedReply = Type.Object(
  {
    ...ReplyResponse.properties,
    contact_name: nullable(
      Type.String({ description: "Of the newest contact with the number; null without crm.read" }),
    ),
  },
  { title: "ListedChatReply" },
);
export type ListedReply = Static<typeof ListedReply>;

const narrowing = {
  phone_number: Type.Optional(
    Type.String({ maxLength: 64, description: "Digits with country code" }),
  ),
  bsuid: Type.Optional(
    Type.String({
      maxLength: 160,
      description: "WhatsApp's business-scoped user ID, also of customers without a phone number",
    }),
  ),
  opted_out: Type.Optional(Type.Boolean()),
};

/** Query fields of a campaign's replies. */
export const campaignReplyQuery = { ...narrowing, ...pageQuery };

/** The filters of all replies. */
export const replyFilterQuery = {
  campaign_id: Type.Optional(id("Answers to this campaign's messages")),
  ...narrowing,
};

/** Query fields of all replies. */
export const replyQuery = { ...replyFilterQuery, ...pageQuery };
