// The chat events of the catalogue.
import Type from "typebox";
import { id, nullable, timestamp } from "../lib/schemas.ts";
import { count, maybe, text, time, word } from "./event-fields.ts";

const chatCampaign = { campaign_id: id("Campaign id"), name: text("The campaign's name") };

/** A customer, by at least one of two identities. */
const customer = {
  phone_number: maybe("Digits with country code; null where the provider withholds the number"),
  bsuid: maybe("The customer's WhatsApp user ID, where known"),
};

const reported = {
  error_code: nullable(Type.Integer({ description: "The provider's error code" })),
  error: maybe("The kind of error"),
  at: timestamp("UTC: when it happened, by the provider's clock where the provider reports a time"),
};

const chatMessage = {
  campaign_id: id("Campaign id"),
  recipient_id: id("The recipient in the campaign"),
  ...customer,
  provider_message_id: maybe("The provider's id of the message; null when there is none"),
  ...reported,
};

const messageOf = <const Status extends string>(...statuses: Status[]) =>
  Type.Object({ ...chatMessage, status: word(statuses, "As the campaign's recipients show it") });

const answer = {
  reply_id: id("The reply that was answered"),
  message_id: text("As in the reply's answers"),
  chat_number_id: id("The number that the answer was sent from"),
  ...customer,
  ...reported,
};

const answerEvent = <const Status extends string>(status: Status, summary: string) => ({
  summary,
  data: Type.Object({ ...answer, status: word([status], "As in the reply's answers") }),
});

export const chatEvents = {
  "chat.campaign.created": {
    summary: "A chat campaign was submitted.",
    data: Type.Object({
      ...chatCampaign,
      status: word(["running", "scheduled"], "running: it starts immediately"),
      total_contacts: count("Recipients that remain"),
      trimmed: Type.Object(
        { invalid: Type.Integer(), duplicate: Type.Integer(), blacklisted: Type.Integer() },
        { description: "Trimmed recipients, by reason" },
      ),
      scheduled_at: time("UTC"),
    }),
  },
  "chat.campaign.started": {
    summary: "A chat campaign started sending, immediately or at its scheduled time.",
    data: Type.Object(chatCampaign),
  },
  "chat.campaign.paused": {
    summary:
      "A chat campaign was paused, or started paused, until it is resumed or its hold is lifted.",
    data: Type.Object({ ...chatCampaign, paused_reason: text("manual, error_threshold, auth, …") }),
  },
  "chat.campaign.resumed": {
    summary: "A chat campaign resumed: it has no hold any more, or retries a reported failure.",
    data: Type.Object(chatCampaign),
  },
  "chat.campaign.retried": {
    summary: "A user retried failed recipients of a chat campaign; an ended campaign runs again.",
    data: Type.Object({ ...chatCampaign, retried: count("Recipients that were queued again") }),
  },
  "chat.campaign.completed": {
    summary:
      "A chat campaign has no pending recipients any more. Delivery statuses may still arrive, and resume it.",
    data: Type.Object({
      ...chatCampaign,
      total_contacts: count("Recipients"),
      sent_count: count("Accepted by the provider and not failed since"),
      delivered_count: count("Delivered so far, read ones included"),
      read_count: count("Read so far"),
      failed_count: count("Failed or skipped"),
    }),
  },
  "chat.campaign.cancelled": {
    summary: "A user cancelled a chat campaign; its unsent messages are cancelled.",
    data: Type.Object(chatCampaign),
  },
  "chat.campaign.failed": {
    summary: "A chat campaign failed; its unsent messages are skipped.",
    data: Type.Object({ ...chatCampaign, failure: text("The reason") }),
  },
  "chat.message.sent": {
    summary: "The provider sent a campaign's message. Recorded only while an endpoint subscribes.",
    data: messageOf("sent"),
  },
  "chat.message.delivered": {
    summary: "A campaign's message reached the phone. Recorded only while an endpoint subscribes.",
    data: messageOf("delivered"),
  },
  "chat.message.read": {
    summary: "A campaign's message was read. Recorded only while an endpoint subscribes.",
    data: messageOf("read"),
  },
  "chat.message.failed": {
    summary:
      "A campaign's message failed or was skipped. Recorded only while an endpoint subscribes.",
    data: messageOf("failed", "skipped"),
  },
  "chat.optout": {
    summary: "A customer opted out of messages.",
    data: Type.Object({
      ...customer,
      source: word(["reply", "provider"], "reply: the customer replied with a stop word"),
      scope: word(["all", "marketing"], "What the customer ended: all messages, or marketing"),
      chat_number_id: id("The number that received the opt-out"),
      reply_id: nullable(id("The customer's reply")),
      campaign_id: nullable(id("The campaign of the message that was replied to")),
      recipient_id: nullable(id("The recipient of the message that was replied to")),
    }),
  },
  "chat.optin": {
    summary: "A customer ended an opt-out of their own.",
    data: Type.Object({
      ...customer,
      source: word(["reply", "provider"], "reply: the customer replied START"),
      chat_number_id: id("The number that received the opt-in"),
      reply_id: nullable(id("The customer's reply")),
      campaign_id: nullable(id("The campaign of the message that was replied to")),
      recipient_id: nullable(id("The recipient of the message that was replied to")),
    }),
  },
  "chat.reply.received": {
    summary: "A customer sent a message to a chat number.",
    data: Type.Object({
      reply_id: id("Reply id"),
      chat_number_id: id("The number that it was sent to"),
      ...customer,
      type: text("text, button, interactive, image, order, location, … as the provider names it"),
      text: maybe("Its text, caption or button"),
      payload: maybe("Of the button or the row that was chosen"),
      content: Type.Unknown({
        description: "What it contains besides its text, as the provider sends it; null for a text",
      }),
      campaign_id: nullable(id("The campaign of the message that was replied to")),
      recipient_id: nullable(id("The recipient of the message that was replied to")),
      opted_out: Type.Boolean({ description: "Whether it opts out" }),
      received_at: time("UTC, by the provider's clock"),
    }),
  },
  "chat.answer.sent": answerEvent("sent", "The provider sent a user's answer to a reply."),
  "chat.answer.delivered": answerEvent(
    "delivered",
    "A user's answer to a reply reached the phone.",
  ),
  "chat.answer.read": answerEvent("read", "A user's answer to a reply was read."),
  "chat.answer.failed": answerEvent("failed", "A user's accepted answer to a reply failed."),
  "chat.template.updated": {
    summary: "The provider changed a template's status, quality or category.",
    data: Type.Object({
      template_id: id("Template id"),
      name: Type.String(),
      language: Type.String(),
      status: text("APPROVED, PENDING, REJECTED, PAUSED, DISABLED, …"),
      quality: text("GREEN, YELLOW, RED or UNKNOWN"),
      category: text("MARKETING, UTILITY or AUTHENTICATION"),
      rejection_reason: maybe("In the provider's words"),
    }),
  },
};
