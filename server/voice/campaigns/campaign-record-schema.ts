// A voice campaign and whom it calls, as the API shows them once they are there.
import Type, { type Static } from "typebox";
import { MenuStep } from "../../calls/records/call-record-schema.ts";
import { call_types } from "../../calls/state-machine/voice-plan.ts";
import { id, nullable, timestamp } from "../../lib/schemas.ts";
import { hold_reasons, HoldAnswer } from "./internal/holds.ts";

export const campaign_statuses = [
  "scheduled",
  "running",
  "paused",
  "completed",
  "cancelled",
  "failed",
] as const;
export type CampaignStatus = (typeof campaign_statuses)[number];

/** Where a recipient may be; the first three are still open. */
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
  "cancelled",
] as const;
export type RecipientState = (typeof recipient_states)[number];

/** What keeps a running campaign from calling just now, though nobody paused it. */
export const waits = ["no_trunk", "calling_window", "speech", "retry"] as const;
export type Wait = (typeof waits)[number];

const time = (description: string) => nullable(timestamp(description));
const count = (description: string) => Type.Integer({ description });

/** A campaign with its counts. */
export const VoiceCampaignRecord = Type.Object({
  id: Type.String({ format: "uuid", description: "The id of its launch" }),
  campaign_id: id("The campaignId of its launch; calls name it"),
  name: Type.String(),
  call_type: Type.Enum(call_types, { type: "string" }),
  send_to: Type.Enum(["Numbers", "csv", "Group"], { type: "string" }),
  voice_file_id: id("What is played"),
  is_test: Type.Boolean({ description: "A call to try it out" }),
  status: Type.Enum(campaign_statuses, { type: "string" }),
  paused_reason: nullable(
    Type.Enum(hold_reasons, {
      type: "string",
      description: "Why it is paused; of several reasons the weightiest",
    }),
  ),
  holds: Type.Array(HoldAnswer, { description: "All that keeps it back, weightiest first" }),
  waiting_for: nullable(
    Type.Enum(waits, {
      type: "string",
      description:
        "What a running campaign waits for: a way to a carrier, the account's calling time, " +
        "texts to be spoken, the next attempt",
    }),
  ),
  callable_from: time("UTC: when the account's calling time begins, while it waits for that"),
  total: count("Recipients: those of every state"),
  pending: count("Not finished yet: to be spoken, waiting or being called"),
  in_progress: count("Being called now; of the pending"),
  answered: count("A person answered"),
  machine: count("A machine answered"),
  busy: count("Busy, at the last attempt"),
  no_answer: count("Did not answer, at the last attempt"),
  failed: count("Could not be called"),
  suppressed: count("Not to be called"),
  cancelled: count("Taken back before they were called"),
  rejected: count("Of what was sent, no phone numbers"),
  duplicates: count("Of what was sent, numbers that had come before"),
  attempts: count("Calls placed"),
  cost: count("Call credits that they came to"),
  talk_seconds: count("Of all calls"),
  max_retry: count("Redials of who did not answer, at most"),
  retry_after: count("Minutes before each"),
  scheduled_at: time("UTC; null for at once"),
  started_at: time("UTC"),
  finished_at: time("UTC: when nobody was pending any more"),
  purged_at: time(
    "UTC: since when whom it called is no longer kept, by the account's retention; its counts stay",
  ),
  created_at: timestamp("UTC"),
  created_by: id("User id"),
  crm_workspace_id: nullable(id("The workspace that is told of each call")),
  callback_url: nullable(Type.String()),
});
export type VoiceCampaignRecord = Static<typeof VoiceCampaignRecord>;

/** One recipient of a campaign. */
export const VoiceRecipientAnswer = Type.Object({
  id: id("Recipient id: 1 for the first that was sent"),
  number: Type.String({ description: "As sent" }),
  phone: Type.String({ description: "Digits with country code" }),
  variables: nullable(Type.Record(Type.String(), Type.String())),
  state: Type.Enum(recipient_states, { type: "string" }),
  attempts: Type.Integer({ description: "Calls placed" }),
  call_id: nullable(id("The last call")),
  outcome: nullable(
    Type.String({ description: "What the last call came to, as its report tells" }),
  ),
  ended_reason: nullable(Type.String({ description: "Why the last call ended" })),
  talk_seconds: nullable(Type.Integer({ description: "Of the last call" })),
  dtmf: Type.String({ description: "The keys pressed on the last call" }),
  menu_path: Type.Array(MenuStep, { description: "The way through the menu on the last call" }),
  due_at: time("UTC: when it is called next, at the earliest; null unless it waits"),
  finished_at: time("UTC"),
});
export type VoiceRecipientAnswer = Static<typeof VoiceRecipientAnswer>;

/** How often something was pressed. */
export const KeyCount = Type.Object({
  node: nullable(Type.String({ description: "Of the menu; null where there is none" })),
  key: nullable(
    Type.String({
      description: "A key or what was entered; timeout or invalid; null: the node was reached",
    }),
  ),
  count: Type.Integer({ description: "Times" }),
  callers: Type.Integer({ description: "Recipients, each once" }),
});
export type KeyCount = Static<typeof KeyCount>;
