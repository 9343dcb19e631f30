// API schemas of what users answer to a reply.
import Type, { type Static } from "typebox";
import { closed, id, nullable, timestamp } from "../../lib/schemas.ts";

export const ReplyAnswer = Type.Object(
  {
    message_id: Type.String({ description: "Trunkline's message ID" }),
    text: Type.String(),
    outcome: Type.Enum(["accepted", "failed", "unknown"], {
      type: "string",
      description:
        "failed: the provider rejected it, or reported that it was not delivered; unknown: it is being sent, or may have been sent",
    }),
    error: nullable(Type.String({ description: "The error name" })),
    status: nullable(
      Type.Enum(["sent", "delivered", "read", "failed"], {
        type: "string",
        description: "The furthest delivery status that the provider reported; null: none yet",
      }),
    ),
    status_at: nullable(timestamp("When the status was reached: UTC, by the provider's clock")),
    sent_by: nullable(id("User id; null: a token without a user")),
    sent_at: timestamp("UTC"),
  },
  { title: "ChatReplyAnswer" },
);
export type ReplyAnswer = Static<typeof ReplyAnswer>;

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
