// A call's report as the API shows it: one row for each attempt, with what became of each party.
import Type, { type Static } from "typebox";
import { id, nullable, timestamp } from "../../lib/schemas.ts";
import { noPickPolicies } from "../click-to-call/click-to-call-schema.ts";
import { callStatuses, type CallStatus } from "../state-machine/call.ts";

const time = (description: string) => nullable(timestamp(description));
const seconds = (description: string) => nullable(Type.Integer({ description }));
const status = (description: string) => Type.Enum(callStatuses, { type: "string", description });
const text = (description: string) => nullable(Type.String({ description }));

/** One party of a call. */
export const CallLegRecord = Type.Object({
  role: Type.Enum(["agent", "customer", "transfer"], {
    type: "string",
    description: "transfer: an extension that the customer was put through to",
  }),
  number: Type.String({ description: "An extension, or a phone's digits with country code" }),
  status: status("How far it is, or what it came to"),
  initiated_at: timestamp("UTC: when it was dialled"),
  ringing_at: time("UTC"),
  answered_at: time("UTC"),
  ended_at: time("UTC"),
  cause: nullable(Type.Integer({ description: "Why it ended, by Q.850" })),
  sip_status: nullable(Type.Integer({ description: "The final SIP answer, when it refused" })),
});
export type CallLegRecord = Static<typeof CallLegRecord>;

/** A step of a caller's way through a menu. */
export const MenuStep = Type.Object({
  node: Type.String(),
  key: nullable(
    Type.String({
      description: "What was entered there, timeout or invalid; null: it was reached",
    }),
  ),
  at: timestamp("UTC"),
});
export type MenuStep = Static<typeof MenuStep>;

const TranscriptLine = Type.Object({
  who: Type.Enum(["agent", "caller"], { type: "string" }),
  text: Type.String(),
  at: timestamp("UTC"),
});

const MessageRecord = Type.Object({
  node: Type.String({ description: "Where in the menu it was left" }),
  recording_url: text("The path of the recording, once there is one"),
  state: Type.Enum(["recording", "ready", "failed", "deleted"], {
    type: "string",
    description: "deleted: kept as long as the account keeps recordings",
  }),
});

const collected = Type.Record(Type.String(), Type.String(), {
  description: "What the caller entered or told, by variable",
});

/** A row of the call report. */
export const CallRecord = Type.Object({
  call_id: id("One attempt: a retry is a call of its own"),
  campaign_id: id("What was submitted: the campaignId of its answer"),
  campaign_name: text("Of a voice campaign"),
  recipient_id: nullable(id("Of a voice campaign's recipients")),
  type: Type.Enum(["click_to_call", "voice_campaign"], { type: "string" }),
  direction: Type.Literal("outbound"),
  reference: text("As sent"),
  source: text("As sent"),
  remark: text("As sent"),
  from_number: Type.String({
    description: "The agent's, as sent; of a voice campaign, the number that was shown",
  }),
  to_number: Type.String({ description: "The customer's, as sent" }),
  cli_number: text("As sent: the caller id that was asked for"),
  status: status("How far it is, or what it came to"),
  disposition: text("What it came to: answered, busy, no_answer, declined, …"),
  ended_reason: text("Why it ended: hung_up, customer_busy, no_free_agent, credit, …"),
  ended_by: nullable(Type.Enum(["agent", "customer", "system", "api"], { type: "string" })),
  answered_by: Type.Enum(["human", "machine", "unknown"], { type: "string" }),
  attempt: Type.Integer({ description: "1 for the first" }),
  queued_at: timestamp("UTC: when it was taken"),
  initiated_at: time("UTC: when it was begun"),
  ringing_at: time("UTC: when the customer's phone rang"),
  answered_at: time("UTC: when the customer answered"),
  ended_at: time("UTC"),
  ring_seconds: seconds("How long the customer was called"),
  talk_seconds: seconds("From the customer's answer to the end"),
  billed_seconds: seconds("Started pulses of every answered leg"),
  hangup_cause_q850: nullable(Type.Integer()),
  sip_status: nullable(Type.Integer()),
  dtmf: Type.String({ description: "The keys that the customer pressed" }),
  recording_url: text("The path of the recording, once there is one"),
  transcript: Type.Unsafe<readonly Static<typeof TranscriptLine>[] | null>({
    type: ["array", "null"],
    items: TranscriptLine,
    description: "What caller and AI agent said; null where there was none",
  }),
  menu_path: Type.Array(MenuStep, { description: "The caller's way through a menu" }),
  collected,
  messages: Type.Array(MessageRecord, { description: "What the caller left, in order" }),
  callback_at: time("UTC: when the caller asked to be called again"),
  opted_out: Type.Boolean({ description: "The caller asked never to be called again" }),
  cost: Type.Integer({ description: "Call credits, once it has ended" }),
  lead_id: nullable(id("The lead that a voice campaign's call was noted on")),
  policy_applied: nullable(
    Type.Enum(noPickPolicies, {
      type: "string",
      description: "What was done where the agent did not answer",
    }),
  ),
  retry_at: time("UTC: when it is tried again by itself"),
  legs: Type.Array(CallLegRecord, { description: "In the order in which they were dialled" }),
});
export type CallRecord = Static<typeof CallRecord>;

/** One call with what happened on it, and what was asked for. */
export const CallDetail = Type.Object({
  ...CallRecord.properties,
  from_group_id: nullable(id("Agent group")),
  to_group_id: nullable(id("Customer group")),
  agent_not_pick_group: nullable(id("Agent group")),
  agent_not_pick_policy: text("As sent"),
  max_retry: Type.Integer({ description: "Automatic retries, at most" }),
  retry_after: Type.Integer({ description: "Minutes before each" }),
  customer_retry_count: Type.Integer({ description: "Manual retries of the customer, at most" }),
  agent_retry_count: Type.Integer({ description: "Manual retries of the agent, at most" }),
  extension_for_transfer: text("The digit that the agent presses after *"),
  extension_for_dis: text("The digit that the customer presses"),
  scheduled_at: time("UTC: when it was to be placed; null for at once"),
  enable_chat: Type.Boolean(),
  auto_block_time: nullable(Type.Integer({ description: "Minutes" })),
  callback_method: text("GET, POST or PUT"),
  retried_leg: nullable(
    Type.Enum(["agent", "customer"], {
      type: "string",
      description: "Of a retry that somebody asked for",
    }),
  ),
  events: Type.Array(
    Type.Object(
      { type: Type.String({ examples: ["call.answered"] }), at: timestamp("UTC") },
      { additionalProperties: true },
    ),
    { description: "What happened, in order, as callbacks are told it" },
  ),
});
export type CallDetail = Static<typeof CallDetail>;

const any_status = `(${callStatuses.join("|")})`;

/** Statuses to look for, as a query names them. */
export const CallStatusQuery = Type.String({
  pattern: `^${any_status}(,${any_status}){0,7}$`,
  description: `One or more of ${callStatuses.join(", ")}, with commas between`,
  "x-reason": `must be of ${callStatuses.join(", ")}, with commas between`,
  examples: ["busy,no-answer"],
});

/** The statuses of such a text, each once. */
export function readCallStatuses(statuses: string): CallStatus[] {
  return [...new Set(statuses.split(","))] as CallStatus[];
}
