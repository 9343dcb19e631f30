// Call records in the API: one per attempt, with the outcome of each leg.
import Type, { type Static } from "typebox";
import { id, mapOf, nullable, timestamp } from "../../lib/schemas.ts";
import { noPickPolicies } from "../click-to-call/click-to-call-schema.ts";
import { callStatuses, type CallStatus } from "../state-machine/call.ts";

const time = (description: string) => nullable(timestamp(description));
const seconds = (description: string) => nullable(Type.Integer({ description }));
const status = (description: string) => Type.Enum(callStatuses, { type: "string", description });
const text = (description: string) => nullable(Type.String({ description }));

/** One party of a call. */
export const CallLegRecord = Type.Object(
  {
    role: Type.Enum(["agent", "customer", "transfer"], {
      type: "string",
      description: "transfer: an extension that the customer was transferred to",
    }),
    number: Type.String({ description: "An extension, or a phone number as E.164 digits" }),
    status: status("The current or final status"),
    initiated_at: timestamp("UTC: when it was dialed"),
    ringing_at: time("UTC"),
    answered_at: time("UTC"),
    ended_at: time("UTC"),
    cause: nullable(Type.Integer({ description: "The Q.850 hangup cause" })),
    sip_status: nullable(
      Type.Integer({ description: "The final SIP status, if the leg was rejected" }),
    ),
    blocker: text("Why it was not dialed: number_cap, account_cap, token_cap, suppressed, …"),
  },
  { title: "CallLeg" },
);
export type CallLegRecord = Static<typeof CallLegRecord>;

/** A step of a caller's path through a menu. */
export const MenuStep = Type.Object(
  {
    node: Type.String(),
    key: nullable(
      Type.String({
        description:
          "The key or digits entered, timeout or invalid; null: the caller reached the node",
      }),
    ),
    at: timestamp("UTC"),
  },
  { title: "MenuStep" },
);
export type MenuStep = Static<typeof MenuStep>;

const TranscriptLine = Type.Object(
  {
    who: Type.Enum(["agent", "caller"], { type: "string" }),
    text: Type.String(),
    at: timestamp("UTC"),
  },
  { title: "TranscriptLine" },
);

const MessageRecord = Type.Object(
  {
    node: Type.String({ description: "The menu node where the caller left it" }),
    recording_url: text("The path of the recording; null: not available"),
    state: Type.Enum(["recording", "ready", "failed", "deleted"], {
      type: "string",
      description: "deleted: the account's retention period for recordings has ended",
    }),
  },
  { title: "RecordedMessage" },
);

const callback_outcomes = [
  "scheduled",
  "called",
  "opted_out",
  "suppressed",
  "campaign_ended",
  "failed",
] as const;

const collected = mapOf(Type.String(), {
  description: "The caller's entries and answers, by variable",
});

/** The types of calls, of which every call has one. */
export const call_record_types = ["click_to_call", "voice_campaign", "incoming"] as const;
export type CallRecordType = (typeof call_record_types)[number];

/** A call record. */
export const CallRecord = Type.Object(
  {
    call_id: id("One attempt: each retry is a separate call"),
    campaign_id: id("The campaignId of the response to the submission"),
    campaign_name: text("The voice campaign's name"),
    recipient_id: nullable(id("The voice campaign's recipient")),
    type: Type.Enum(call_record_types, { type: "string" }),
    direction: Type.Enum(["outbound", "inbound"], {
      type: "string",
      description: "inbound: the customer called one of the account's phone numbers",
    }),
    reference: text("As sent"),
    source: text("As sent"),
    remark: text("As sent"),
    from_number: Type.String({
      description:
        "The agent's number, as sent; for a voice campaign, the caller ID; for an incoming call, the number that was called",
    }),
    to_number: Type.String({
      description: "The customer's number, as sent; empty: withheld by the caller",
    }),
    cli_number: text("As sent: the requested caller ID"),
    status: status("The current or final status"),
    disposition: text(
      "The outcome: answered, abandoned, voicemail_left, busy, no_answer, declined, …",
    ),
    ended_reason: text("The reason it ended: hung_up, customer_busy, no_free_agent, credit, …"),
    ended_by: nullable(Type.Enum(["agent", "customer", "system", "api"], { type: "string" })),
    answered_by: Type.Enum(["human", "machine", "unknown"], { type: "string" }),
    attempt: Type.Integer({ description: "1 for the first" }),
    queued_at: timestamp("UTC: when it was queued"),
    initiated_at: time("UTC: when its first leg was dialed"),
    ringing_at: time("UTC: when the customer's phone rang"),
    answered_at: time("UTC: when the customer answered"),
    ended_at: time("UTC"),
    ring_seconds: seconds("How long the customer's phone rang, until answered or given up"),
    talk_seconds: seconds("From the customer's answer to the end"),
    billed_seconds: seconds("The started pulses of all answered legs, in seconds"),
    hangup_cause_q850: nullable(Type.Integer()),
    sip_status: nullable(Type.Integer()),
    dtmf: Type.String({ description: "The keys that the customer pressed" }),
    recording_url: text("The path of the recording; null: not available"),
    transcript: Type.Unsafe<readonly Static<typeof TranscriptLine>[] | null>({
      type: ["array", "null"],
      items: TranscriptLine,
      description: "The conversation between caller and AI agent; null: no AI agent",
    }),
    menu_path: Type.Array(MenuStep, { description: "The caller's path through the menu" }),
    collected,
    messages: Type.Array(MessageRecord, {
      description: "The caller's recorded messages, in order",
    }),
    callback_at: time("UTC: the time of the callback that the caller asked for"),
    callback_outcome: nullable(
      Type.Enum(callback_outcomes, {
        type: "string",
        description:
          "What became of the callback: scheduled; called; or why it was not placed: the caller opted out " +
          "on this call, was suppressed since, the campaign ended, or the call failed. Null: none was asked for",
      }),
    ),
    opted_out: Type.Boolean({ description: "Whether the caller opted out of further calls" }),
    cost: Type.Integer({ description: "Call credits, once it has ended" }),
    lead_id: nullable(id("The lead whose timeline shows the voice campaign's call")),
    policy_applied: nullable(
      Type.Enum(noPickPolicies, {
        type: "string",
        description: "The policy in effect when the agent did not answer",
      }),
    ),
    retry_at: time("UTC: the next automatic retry"),
    legs: Type.Array(CallLegRecord, { description: "In dialing order" }),
  },
  { title: "CallRecord" },
);
export type CallRecord = Static<typeof CallRecord>;

const contact_name = nullable(
  Type.String({
    description: "The customer's, of the newest contact with the number; null without crm.read",
  }),
);

/** A call record in a list. */
export const ListedCall = Type.Object(
  { ...CallRecord.properties, contact_name },
  { title: "ListedCall" },
);
export type ListedCall = Static<typeof ListedCall>;

/** A call record with its events and its request. */
export const CallDetail = Type.Object(
  {
    ...CallRecord.properties,
    contact_name,
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
    scheduled_at: time("UTC: the requested time; null: immediately"),
    enable_chat: Type.Boolean(),
    auto_block_time: nullable(Type.Integer({ description: "Minutes" })),
    callback_method: text("GET, POST or PUT"),
    retried_leg: nullable(
      Type.Enum(["agent", "customer"], {
        type: "string",
        description: "The leg of a manual retry",
      }),
    ),
    ended_by_user: nullable(
      Type.Object(
        { id: id("The user, or the user of the token"), name: Type.String() },
        {
          title: "CallEndedByUser",
          description:
            "The user who ended this call by request; null: none, or no longer in the audit trail",
        },
      ),
    ),
    events: Type.Array(
      Type.Object(
        { type: Type.String({ examples: ["call.answered"] }), at: timestamp("UTC") },
        { additionalProperties: true },
      ),
      { description: "The call's events, in order, as callbacks deliver them" },
    ),
  },
  { title: "CallDetail" },
);
export type CallDetail = Static<typeof CallDetail>;

const any_status = `(${callStatuses.join("|")})`;

/** A filter of call statuses in a query. */
export const CallStatusQuery = Type.String({
  pattern: `^${any_status}(,${any_status}){0,7}$`,
  description: `One or more of ${callStatuses.join(", ")}, separated by commas`,
  "x-reason": `must be one or more of ${callStatuses.join(", ")}, separated by commas`,
  examples: ["busy,no-answer"],
});

/** Returns the distinct statuses of such a filter. */
export function readCallStatuses(statuses: string): CallStatus[] {
  return [...new Set(statuses.split(","))] as CallStatus[];
}
