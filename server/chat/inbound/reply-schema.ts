// The API schema of a customer's message to one of the account's numbers.
import Type, { type Static } from "typebox";
import { closed, id, nullable, pageQuery, timestamp } from "../../lib/schemas.ts";

const Answer = Type.Object(
  {
    message_id: Type.String({ description: "Trunkline's message ID" }),
    text: Type.String(),
    outcome: Type.Enum(["accepted", "failed", "unknown"], {
      type: "string",
      description: "unknown: it is being sent, or may have been sent",
    }),
    error: nullable(Type.String({ description: "The error name" })),
    sent_by: nullable(id("User id; null: a token without a user")),
    sent_at: timestamp("UTC"),
  },
  { title: "ChatReplyAnswer" },
);
export type ReplyAnswer = Static<typeof Answer>;

/** The body of an answer to a reply. */
export const NewAnswer = closed(
  {
    text: Type.String({
      pattern: "\\S",
      maxLength: 4_096,
      description: "With WhatsApp's markup: *bold*, _italic_",
      "x-reason": "must not be empty and have at most 4,096 characters",
    }),
  },
  {
    title: "NewChatReplyAnswer",
    description: "A text to send to who sent the reply",
    examples: [{ text: "Your order is on its way." }],
  },
);

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
    answers: Type.Array(Answer, {
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

const narrowing = {
  phone_number: Type.Optional(
    Type.String({ maxLength: 64, description: "Digits with country code" }),
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
