// Reports in API form: a row for each campaign, day, number or agent, and the totals.
import Type, { type Static } from "typebox";
import { id, nullable } from "../lib/schemas.ts";

export const chat_groups = ["campaign", "day", "number"] as const;
export type ChatGroup = (typeof chat_groups)[number];

export const call_groups = ["campaign", "day", "number", "agent"] as const;
export type CallGroup = (typeof call_groups)[number];

const count = (description: string) => Type.Integer({ format: "int64", description });
const share = (description: string) => nullable(Type.Number({ description }));
/** A column that is present only when rows are grouped by it. */
const key = (description: string) => Type.Optional(nullable(Type.String({ description })));
const keyId = (description: string) => Type.Optional(nullable(id(description)));

const campaign = {
  campaign_id: keyId(
    "By campaign; null in a call report for all click-to-calls and incoming calls together, which `type` separates",
  ),
  campaign_name: key("By campaign"),
};
const day = { date: Type.Optional(Type.String({ format: "date", description: "By day" })) };

const chatCounts = {
  total: count("Recipients"),
  sent: count("Accepted by the provider, including delivered and read messages"),
  delivered: count("Delivered, including read messages"),
  read: count("Read"),
  failed: count("Rejected, undelivered, skipped or cancelled"),
  pending: count("Not final yet"),
  replies: count("Replies to campaigns' messages"),
  opt_outs: count("Replies that opted out, by a stop word or a button"),
  credits: count("Chat credits spent and not refunded"),
  delivery_rate: share("delivered / sent, from 0 to 1; null where nothing was sent"),
  read_rate: share("read / delivered; null where nothing was delivered"),
};

export const ChatReportRow = Type.Object(
  {
    ...campaign,
    ...day,
    chat_number_id: keyId("By number"),
    phone_number: key("By number: digits with country code"),
    ...chatCounts,
  },
  { title: "ChatReportRow" },
);
export type ChatReportRow = Static<typeof ChatReportRow>;

const callCounts = {
  calls: count("Attempts"),
  answered: count(
    "Ended, and a person had answered; of incoming calls, all that were answered, also if only a greeting or menu was played",
  ),
  machine: count("Ended, and an answering machine had answered"),
  busy: count("The party called, agent or customer, was busy or declined"),
  no_answer: count("The party called, agent or customer, did not answer"),
  failed: count("The call failed"),
  canceled: count("Canceled before it was answered"),
  in_progress: count("Not ended yet"),
  connected: count("Agent and customer talked"),
  talk_seconds: count("Sum over all calls"),
  average_talk_seconds: share("Per call that a person or a machine answered; null without any"),
  ring_seconds: count("Sum over all calls"),
  billed_seconds: count("Sum over all calls"),
  cost: count("Call credits"),
  answer_rate: share(
    "Per call: answered / calls that ended, from 0 to 1; null where none ended. A voice campaign's answer_rate is per person called",
  ),
};

export const CallReportRow = Type.Object(
  {
    ...campaign,
    ...day,
    caller_id: key("By number: the caller ID that the customer saw; null if unknown"),
    agent_number: key("By agent: an extension or a phone; null for calls without one"),
    agent_name: key("By agent: the user's name, or else the extension's; null if unknown"),
    agent_user_id: keyId("By agent"),
    ...callCounts,
  },
  { title: "CallReportRow" },
);
export type CallReportRow = Static<typeof CallReportRow>;

const page = {
  from: Type.String({ format: "date-time", description: "UTC: the beginning, inclusive" }),
  to: Type.String({ format: "date-time", description: "UTC: the end, exclusive" }),
  next_cursor: nullable(Type.String()),
};
const totals = { description: "Totals of all rows, independent of the page" };

export const ChatReport = Type.Object(
  {
    ...page,
    data: Type.Array(ChatReportRow),
    totals: Type.Object(chatCounts, { title: "ChatReportTotals", ...totals }),
  },
  { title: "ChatReport" },
);
export type ChatReport = Static<typeof ChatReport>;

export const CallReport = Type.Object(
  {
    ...page,
    data: Type.Array(CallReportRow),
    totals: Type.Object(callCounts, { title: "CallReportTotals", ...totals }),
  },
  { title: "CallReport" },
);
export type CallReport = Static<typeof CallReport>;

/** The columns that identify a row, by grouping. */
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

/** The columns of counts. */
export const chat_counts = Object.keys(chatCounts) as (keyof typeof chatCounts)[];
export const call_counts = Object.keys(callCounts) as (keyof typeof callCounts)[];
