// API schemas of test messages.
import Type, { type Static } from "typebox";
import { closed, nullable } from "../../lib/schemas.ts";
import { CampaignHead, Contact } from "../campaigns/chat-campaign-schema.ts";

const { chat_number_id, template_id, flow_id, automation_flow_id } = CampaignHead.properties;

export const TestMessage = closed(
  { chat_number_id, template_id, flow_id, automation_flow_id, ...Contact.properties },
  {
    title: "NewTestMessage",
    description: "Exactly one of template_id, flow_id and automation_flow_id, and the recipient",
    examples: [{ chat_number_id: 1, template_id: 1, phone_number: "919876543210" }],
  },
);
export type TestMessage = Static<typeof TestMessage>;

export const TestMessageResponse = Type.Object(
  {
    message_id: Type.String({ description: "Trunkline's message ID" }),
    outcome: Type.Enum(["accepted", "failed", "unknown"], {
      type: "string",
      description: "unknown: the message may have been sent and stays charged",
    }),
    provider_message_id: nullable(Type.String()),
    error: nullable(Type.String({ description: "The error name" })),
    error_code: nullable(Type.Integer({ description: "The provider's error code" })),
  },
  { title: "TestMessage" },
);
export type TestMessageResponse = Static<typeof TestMessageResponse>;
