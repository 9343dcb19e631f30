// Reports as the API shows them: a row for each campaign, day, number or agent, and one of totals.
import Type, { type Static } from "typebox";
import { id, nullable } from "../lib/schemas.ts";

export const chat_groups = ["campaign", "day", "number"] as const;
export type ChatGroup = (typeof chat_groups)[number];

export const call_groups = ["campaign", "day", "number", "agent"] as const;
export type CallGroup = (typeof call_groups)[number];

const count = (description: string) => Type.Integer({ format: "int64", description });
const share = (description: string) => nullable(Type.Number({ description }));
/** There only where rows are told apart by it. */
const key = (description: string) => Type.Optional(nullable(Type.String({ description })));
const keyId = (description: string) => Type.Optional(nullable(id(description)));

const campaign = {
  campaign_id: keyId("By campaign; of calls, null for all click-to-calls together"),
  campaign_name: key("By campaign"),
};
const day = { date: Type.Optional(Type.String({ format: "date", description: "By day" })) };

const chatCounts = {
  total: count("Recipients"),
  sent: count("The provider took it; delivered and read ones included"),
  delivered: count("Read ones included"),
  read: count(""),
  failed: count("Refused, not delivered, skipped or cancelled"),
  pending: count("Nothing final is known yet"),
  replies: count("Answers to campaigns' messages"),
  opt_outs: count("Those of them that were one of the account's stop words"),
  credits: count("Chat credits spent and not given back"),
  delivery_rate: share("delivered / sent, from 0 to 1; null where nothing was sent"),
  read_rate: share("read / delivered; null where nothing was delivered"),
};

export const ChatReportRow = Type.Object({
  ...campaign,
  ...day,
  chat_number_id: keyId("By number"),
  phone_number: key("By number: digits with country code"),
  ...chatCounts,
});
export type ChatReportRow = Static<typeof ChatReportRow>;

const callCounts = {
  calls: count("Attempts"),
  answered: count("Ended, and a person had answered"),
  machine: count("Ended, and an answering machine had answered"),
  busy: count(""),
  no_answer: count(""),
  failed: count(""),
  canceled: count("Ended before anybody answered"),
  in_progress: count("Not ended yet"),
  connected: count("Agent and customer talked"),
  talk_seconds: count("Of all calls"),
  average_talk_seconds: share("A call that a person or a machine answered; null without any"),
  ring_seconds: count("Of all calls"),
  billed_seconds: count("Of all calls"),
  cost: count("Call credits"),
  answer_rate: share("answered / calls that ended, from 0 to 1; null where none ended"),
};

export const CallReportRow = Type.Object({
  ...campaign,
  ...day,
  caller_id: key("By number: what the customer saw; null where it is not known"),
  agent_number: key("By agent: an extension or a phone; null for calls without one"),
  agent_name: key("By agent: the user's, or else the extension's; null where it is not known"),
  agent_user_id: keyId("By agent"),
  ...callCounts,
});
export type CallReportRow = Static<typeof CallReportRow>;

const page = {
  from: Type.String({ format: "date-time", description: "UTC: where the span begins" }),
  to: Type.String({ format: "date-time", description: "UTC: where it ends, not included" }),
  next_cursor: nullable(Type.String()),
};
const totals = { description: "Of all rows together, whatever the page" };

export const ChatReport = Type.Object({
  ...page,
  data: Type.Array(ChatReportRow),
  totals: Type.Object(chatCounts, totals),
});
export type ChatReport = Static<typeof ChatReport>;

export const CallReport = Type.Object({
  ...page,
  data: Type.Array(CallReportRow),
  totals: Type.Object(callCounts, totals),
});
export type CallReport = Static<typeof CallReport>;

/** What rows are told apart by, as columns. */
export const chat_keys = {
  campaign: ["campaign_id", "campaign_name"],
  day: ["date"],
  number: ["chat_number_id", "phone_number"],
} as const satisfies Record<ChatGroup, readonly (keyof ChatReportRow)[]>;

export const call_keys = {
  campaign: ["campaign_id", "campaign_name"],
  day: ["date"],
  number: ["caller_id"],
  agent: ["agent_number", "agent_name", "agent_user_id"],
} as const satisfies Record<CallGroup, readonly (keyof CallReportRow)[]>;

/** What is counted, as columns. */
export const chat_counts = Object.keys(chatCounts) as (keyof typeof chatCounts)[];
export const call_counts = Object.keys(callCounts) as (keyof typeof callCounts)[];
