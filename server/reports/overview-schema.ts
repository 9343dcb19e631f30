// The overview in API form. Each part is null for a token that may not see it.
import Type, { type Static } from "typebox";
import { HoldResponse } from "../chat/holds/holds.ts";
import { id, nullable, timestamp } from "../lib/schemas.ts";
import { hold_reasons } from "../voice/campaigns/holds.ts";

/** More replies or calls of a day are not counted. */
export const counted_max = 100_000;
/** More of a kind that need attention are not listed: the newest are. */
export const listed_max = 20;

const count = (description: string) => Type.Integer({ minimum: 0, format: "int64", description });

const ChatToday = Type.Object(
  {
    sent: count("Messages that the provider accepted"),
    delivered: count("Messages that were delivered"),
    failed: count("Messages that failed, or were not sent because of an error"),
    replies: count(`Replies that arrived; at most ${counted_max}`),
  },
  { title: "ChatToday" },
);

const CallsToday = Type.Object(
  {
    calls: count(`Calls that were queued or arrived; at most the newest ${counted_max}`),
    answered: count(
      "Of these: ended, and a person had answered; of incoming calls, all that were answered, also if only a greeting or menu was played",
    ),
    ended: count("Of these: ended"),
    in_progress: count("Of these: not ended, and not waiting to be dialed"),
  },
  { title: "CallsToday" },
);

const CreditLevel = Type.Object(
  {
    available: Type.Integer({ format: "int64" }),
    is_low: Type.Boolean({ description: "Below the account's low-credit threshold" }),
  },
  { title: "CreditLevel" },
);

const HeldChat = Type.Object(
  {
    ...HoldResponse.properties,
    name: nullable(
      Type.String({ description: "Of the campaign, template or number; null for the account" }),
    ),
  },
  { title: "HeldChat" },
);

const HeldVoice = Type.Object(
  {
    campaign_id: id("The voice campaign"),
    name: Type.String(),
    reason: Type.Enum(hold_reasons, { type: "string" }),
    set_at: timestamp("UTC"),
  },
  { title: "HeldVoice" },
);

const FailingEndpoint = Type.Object(
  {
    id: id("The callback endpoint"),
    url: Type.String(),
    disabled_reason: nullable(
      Type.Enum(["failing", "gone"], {
        type: "string",
        description: "Why it was switched off; null: it is still tried",
      }),
    ),
    failing_since: nullable(
      timestamp("UTC: the first failure since the last success or since nothing was pending"),
    ),
  },
  { title: "FailingEndpoint" },
);

const RejectedTemplate = Type.Object(
  {
    id: id("The template"),
    name: Type.String(),
    rejection_reason: nullable(Type.String()),
  },
  { title: "RejectedTemplate" },
);

export const Overview = Type.Object(
  {
    since: timestamp("UTC: the beginning of the day in the account's time zone"),
    chat: nullable(ChatToday),
    calls: nullable(CallsToday),
    credits: nullable(
      Type.Object({ chat: CreditLevel, call: CreditLevel }, { title: "CreditLevels" }),
    ),
    chat_holds: nullable(
      Type.Array(HeldChat, {
        description: "What keeps campaigns back and does not end by itself, newest first",
      }),
    ),
    voice_holds: nullable(Type.Array(HeldVoice, { description: "Newest first" })),
    failing_callbacks: nullable(Type.Array(FailingEndpoint)),
    rejected_templates: nullable(
      Type.Array(RejectedTemplate, {
        description: "Rejected by WhatsApp in the last thirty days, newest first",
      }),
    ),
  },
  { title: "Overview" },
);
export type Overview = Static<typeof Overview>;
