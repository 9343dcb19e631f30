// API representation of a launched voice campaign and its recipients.
import Type, { type Static } from "typebox";
import { MenuStep } from "../../calls/records/call-record-schema.ts";
import { call_types } from "../../calls/state-machine/voice-plan.ts";
import { closed, id, mapOf, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { hold_reasons, HoldResponse } from "./holds.ts";

export const campaign_statuses = [
  "scheduled",
  "running",
  "paused",
  "completed",
  "cancelled",
  "failed",
] as const;
export type CampaignStatus = (typeof campaign_statuses)[number];

/** The states of a recipient; the first three are open. */
export const recipient_states = [
  "synthesizing",
  "waiting",
  "calling",
  "answered",
  "machine",
  "busy",
  "no_answer",
  "failed",
  "suppressed",
  "skipped",
  "cancelled",
] as const;
export type RecipientState = (typeof recipient_states)[number];

/** Why a running campaign that is not paused places no calls at the moment. */
export const wait_reasons = [
  "no_trunk",
  "calling_window",
  "recipient_hours",
  "account_cap",
  "token_cap",
  "ai_agent",
  "speech",
  "retry",
] as const;
export type WaitReason = (typeof wait_reasons)[number];

/** Why a recipient was skipped. */
const skip_reasons = [
  "calls_per_customer_day",
  "number_barred",
  "destination_not_allowed",
] as const;

/** The dispositions of calls that reached no person. */
const failed_outcomes = [
  "busy",
  "no_answer",
  "declined",
  "unallocated",
  "invalid",
  "congestion",
  "unreachable",
  "failed",
  "lost",
  "machine",
] as const;

/** Why recipients that may be called again were not reached, as the campaign's failures are counted. */
export const retried_reasons = [
  "busy",
  "no_answer",
  "not_synthesized",
  "speech_rejected",
  "customer_declined",
  "customer_unallocated",
  "customer_invalid",
  "customer_congestion",
  "customer_unreachable",
  "customer_failed",
  "node_lost",
  "playback_failed",
  "answer_missed",
  "agent_lost",
  "ai_agent_unavailable",
] as const;

const time = (description: string) => nullable(timestamp(description));
const count = (description: string) => Type.Integer({ description });

/** A campaign with its counts. */
export const VoiceCampaignRecord = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "The id in the launch response" }),
    campaign_id: id("The campaignId in the launch response; the campaign_id of its calls"),
    name: Type.String(),
    call_type: Type.Enum(call_types, { type: "string" }),
    send_to: Type.Enum(["Numbers", "csv", "Group"], { type: "string" }),
    voice_file_id: id("Voice file id"),
    is_test: Type.Boolean({ description: "Whether it is a test call" }),
    trunk_id: id("The trunk of its calls"),
    caller_id: nullable(
      Type.String({ description: "The caller ID that recipients see; null: the carrier sets one" }),
    ),
    status: Type.Enum(campaign_statuses, { type: "string" }),
    paused_reason: nullable(
      Type.Enum(hold_reasons, {
        type: "string",
        description: "Why it is paused; of several reasons, the one with the highest rank",
      }),
    ),
    holds: Type.Array(HoldResponse, { description: "All holds, highest rank first" }),
    waiting_for: nullable(
      Type.Enum(wait_reasons, {
        type: "string",
        description:
          "Why a running campaign places no calls: no usable trunk (inactive, or every node of it is inactive or lost), outside the account's calling window, " +
          "outside it where its due recipients are, the operator's cap on calls per hour or day of the account or of the token that launched it, the AI agent not available, scripts or prompts not synthesized yet, or the next attempt not due",
      }),
    ),
    callable_from: time(
      "UTC: when a call may be placed again; set while waiting_for is calling_window or recipient_hours",
    ),
    total: count("Recipients in every state"),
    pending: count("Recipients not finished: synthesizing, waiting or being called"),
    in_progress: count("Recipients being called now; included in pending"),
    answered: count("A person answered"),
    machine: count("A machine answered"),
    busy: count("Busy, at the last attempt"),
    no_answer: count("Did not answer, at the last attempt"),
    failed: count("The call failed, or the script or a prompt could not be synthesized"),
    suppressed: count("Not called, or not called again, because of a suppression"),
    skipped: count(
      "Not called, or not called again, for another reason: the recipient's skip_reason",
    ),
    cancelled: count(
      "Cancelled before they were called; others keep the result of their last attempt",
    ),
    rejected: count("Rows that were not valid"),
    duplicates: count("Rows with the number of an earlier row"),
    attempts: count("Calls placed"),
    called: count("Recipients who were called: answered + machine + busy + no_answer + failed"),
    answer_rate: nullable(
      Type.Number({
        description:
          "Per person: answered / called; null while called is 0. The answer_rate of reports is per call",
      }),
    ),
    live_answers: count("Calls that a person answered"),
    abandoned: count(
      "Calls that a person answered and who asked for an agent, and that ended without one",
    ),
    abandonment_rate: nullable(
      Type.Number({ description: "abandoned / live_answers; null without live answers" }),
    ),
    cost: count("Call credits spent"),
    talk_seconds: count("Talk time of all calls"),
    max_retry: count("Most redials of a busy or unanswered number"),
    retry_after: count("Minutes between attempts"),
    scheduled_at: time("UTC; null if it started at once"),
    started_at: time("UTC"),
    finished_at: time("UTC: when the last recipient was finished"),
    purged_at: time(
      "UTC: when its recipients were purged, after the account's retention period; its counts are kept",
    ),
    created_at: timestamp("UTC"),
    created_by: id("User id"),
    crm_workspace_id: nullable(id("The workspace that call outcomes are written to")),
    callback_url: nullable(Type.String()),
  },
  { title: "VoiceCampaign" },
);
export type VoiceCampaignRecord = Static<typeof VoiceCampaignRecord>;

/** Which recipients of a campaign a retry calls again. */
export const VoiceRetry = closed(
  {
    outcomes: optional(
      Type.Array(Type.Enum(failed_outcomes, { type: "string" }), {
        minItems: 1,
        description:
          "Only recipients whose last call had one of these outcomes. Omitted with `reasons`: busy, no_answer, congestion, unreachable, failed, and those whose script or prompts could not be synthesized",
      }),
    ),
    reasons: optional(
      Type.Array(Type.Enum(retried_reasons, { type: "string" }), {
        minItems: 1,
        description:
          "Only recipients that were not reached for one of these reasons, as the campaign's failures count them",
      }),
    ),
  },
  {
    title: "VoiceRetry",
    description:
      "Which recipients are called again; with both fields, those that match both of them",
    examples: [{ reasons: ["no_answer", "not_synthesized"] }],
  },
);

/** The answer to a retry of a campaign's recipients. */
export const RetriedVoiceCampaign = Type.Object(
  {
    retried: Type.Integer({ description: "Recipients that are called again" }),
    campaign: VoiceCampaignRecord,
  },
  { title: "RetriedVoiceCampaign" },
);

/** One recipient of a campaign. */
export const VoiceRecipientResponse = Type.Object(
  {
    id: id("Recipient id: the position among the valid recipients, from 1"),
    number: Type.String({ description: "As sent" }),
    phone: Type.String({ description: "Digits with country code" }),
    variables: nullable(mapOf(Type.String())),
    state: Type.Enum(recipient_states, { type: "string" }),
    skip_reason: nullable(
      Type.Enum(skip_reasons, {
        type: "string",
        description:
          "Why a skipped recipient was not called: the customer had been called as often as the account's calls_per_customer_day allows, numbers of this kind are never called, or the account or its trunk may not call the country",
      }),
    ),
    attempts: Type.Integer({ description: "Calls placed" }),
    call_id: nullable(id("The last call; null if a script could not be synthesized since")),
    outcome: nullable(
      Type.String({ description: "The disposition of the last call, as in its call record" }),
    ),
    ended_reason: nullable(Type.String({ description: "Why the last call ended" })),
    talk_seconds: nullable(Type.Integer({ description: "Talk time of the last call" })),
    dtmf: Type.String({ description: "The keys pressed on the last call" }),
    menu_path: Type.Array(MenuStep, { description: "The path through the menu on the last call" }),
    due_at: time("UTC: the earliest time of the next call; null unless waiting"),
    time_zones: Type.Array(Type.String(), {
      description:
        "IANA names: the zones the recipient may be in, in all of which the calling window must be open; empty if unknown",
    }),
    finished_at: time("UTC"),
    callable_from: time(
      "UTC: when the calling window, which is closed now, opens for the recipient; null unless waiting, or if it is open or never opens",
    ),
  },
  { title: "VoiceRecipient" },
);
export type VoiceRecipientResponse = Static<typeof VoiceRecipientResponse>;

/** A recipient in a list. */
export const ListedVoiceRecipient = Type.Object(
  {
    ...VoiceRecipientResponse.properties,
    contact_name: nullable(
      Type.String({ description: "Of the newest contact with the number; null without crm.read" }),
    ),
  },
  { title: "ListedVoiceRecipient" },
);

/** How often a key was pressed. */
export const KeyCount = Type.Object(
  {
    node: nullable(Type.String({ description: "Menu node; null if the campaign has no menu" })),
    key: nullable(
      Type.String({
        description:
          "A key; entered for a number of several digits; timeout; invalid; null: the node was reached",
      }),
    ),
    count: Type.Integer({ description: "How often" }),
    callers: Type.Integer({ description: "Distinct recipients" }),
  },
  { title: "KeyCount" },
);
export type KeyCount = Static<typeof KeyCount>;
