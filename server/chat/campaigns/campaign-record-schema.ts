// The API schemas of stored campaigns and recipients: the contract's nine fields and further
// details.
import Type, { type Static } from "typebox";
import { id, mapOf, nullable, timestamp } from "../../lib/schemas.ts";
import { ChatCampaignResponse, MmLite, Trimmed } from "./chat-campaign-schema.ts";
import { hold_reasons, HoldResponse } from "../holds/holds.ts";
import {
  recipientStates,
  shownState,
  type RecipientState,
} from "../recipients/recipient-states.ts";

export const campaign_statuses = [
  "scheduled",
  "running",
  "paused",
  "completed",
  "cancelled",
  "failed",
] as const;
export type CampaignStatus = (typeof campaign_statuses)[number];

/** The recipient states of the API: `failed` covers three stored states. */
export const shown_states = [
  "queued",
  "deferred",
  "dispatching",
  "unknown",
  "accepted",
  "sent",
  "delivered",
  "read",
  "failed",
  "skipped",
  "cancelled",
] as const;
export type ShownState = (typeof shown_states)[number];

/** Returns the stored states that the API shows as this state. */
export function storedStates(shown: ShownState): RecipientState[] {
  return recipientStates.filter((state) => shownState(state) === shown);
}

const time = (description: string) => nullable(timestamp(description));

/** A campaign in a list: the nine fields and a summary. */
export const CampaignRecord = Type.Object(
  {
    ...ChatCampaignResponse.properties,
    status: Type.Enum(campaign_statuses, { type: "string" }),
    paused_reason: nullable(
      Type.Enum(hold_reasons, {
        type: "string",
        description: "Why it is paused; of several reasons the weightiest",
      }),
    ),
    chat_number_id: id("The number it is sent from"),
    template_id: nullable(id("Its template, also of a flow that opens with one")),
    flow_id: nullable(id("Its chat flow")),
    automation_flow_id: nullable(Type.String({ format: "uuid" })),
    delivered_count: Type.Integer({ description: "Delivered, read ones included" }),
    read_count: Type.Integer(),
    unknown_count: Type.Integer({
      description: "The outcome is unknown: the provider did not confirm whether they were sent",
    }),
    started_at: time("UTC"),
    finished_at: time(
      "UTC: when nothing was pending any more; null again while a reported failure is retried",
    ),
  },
  { title: "ChatCampaignRecord" },
);
export type CampaignRecord = Static<typeof CampaignRecord>;

const counts = Object.fromEntries(shown_states.map((state) => [state, Type.Integer()])) as Record<
  ShownState,
  ReturnType<typeof Type.Integer>
>;

/** One campaign with all details. */
export const CampaignDetail = Type.Object(
  {
    ...CampaignRecord.properties,
    holds: Type.Array(HoldResponse, {
      description: "Everything that keeps it back, weightiest first",
    }),
    failure: nullable(Type.String({ description: "Why it failed as a whole" })),
    trimmed: Trimmed,
    counts: Type.Object(counts, {
      title: "ChatRecipientCounts",
      description: "Recipients by state; together the total",
    }),
    reply_count: Type.Integer({ description: "Replies to its messages" }),
    purged_at: time(
      "UTC: since when its recipients and replies are no longer kept, by the account's retention",
    ),
    credits: Type.Object(
      {
        reserved: Type.Integer({ description: "At creation, one a recipient" }),
        captured: Type.Integer({ description: "For what the provider took" }),
        released: Type.Integer({ description: "Given back for what was never taken" }),
        refunded: Type.Integer({ description: "Given back for what failed later" }),
      },
      { title: "ChatCampaignCredits" },
    ),
    mm_lite: MmLite,
    created_by: id("User id"),
  },
  { title: "ChatCampaignDetail" },
);
export type CampaignDetail = Static<typeof CampaignDetail>;

/** One recipient of a campaign. */
export const RecipientResponse = Type.Object(
  {
    id: id("Recipient id"),
    phone_number: nullable(
      Type.String({ description: "Digits with country code; null where only the BSUID is known" }),
    ),
    variables: nullable(mapOf(Type.String())),
    state: Type.Enum(shown_states, { type: "string" }),
    error_code: nullable(Type.Integer({ description: "The provider's error code" })),
    error: nullable(Type.String({ description: "The reason in Trunkline's terms" })),
    attempts: Type.Integer({ description: "Number of attempts to send" }),
    provider_message_id: nullable(Type.String()),
    due_at: time("UTC: when a deferred one goes again, or an unknown one is given up"),
    dispatched_at: time("UTC: the last attempt"),
    accepted_at: time("UTC"),
    sent_at: time("UTC"),
    delivered_at: time("UTC"),
    read_at: time("UTC"),
    ended_at: time("UTC: when it failed, was skipped or cancelled"),
    bsuid: nullable(Type.String({ description: "The WhatsApp user ID, where known" })),
  },
  { title: "ChatRecipient" },
);
export type RecipientResponse = Static<typeof RecipientResponse>;

/** A recipient in a list. */
export const ListedChatRecipient = Type.Object(
  {
    ...RecipientResponse.properties,
    contact_name: nullable(
      Type.String({ description: "Of the newest contact with the number; null without crm.read" }),
    ),
  },
  { title: "ListedChatRecipient" },
);
