// One message to try a template or a flow with.
import Type, { type Static } from "typebox";
import { closed, nullable } from "../../lib/schemas.ts";
import { CampaignHead, Contact } from "../campaigns/chat-campaign-schema.ts";

const { chat_number_id, template_id, flow_id, automation_flow_id } = CampaignHead.properties;

export const TestMessage = closed(
  { chat_number_id, template_id, flow_id, automation_flow_id, ...Contact.properties },
  {
    description:
      "Exactly one of template_id, flow_id and automation_flow_id, and whom to send it to",
    examples: [{ chat_number_id: 1, template_id: 1, phone_number: "919876543210" }],
  },
);
export type TestMessage = Static<typeof TestMessage>;

export const TestMessageAnswer = Type.Object({
  message_id: Type.String({ description: "Ours" }),
  outcome: Type.Enum(["accepted", "failed", "unknown"], {
    type: "string",
    description: "unknown: it may have been sent, and stays charged",
  }),
  provider_message_id: nullable(Type.String()),
  error: nullable(Type.String({ description: "Our word for why it failed" })),
  error_code: nullable(Type.Integer({ description: "The provider's number for it" })),
});
export type TestMessageAnswer = Static<typeof TestMessageAnswer>;
