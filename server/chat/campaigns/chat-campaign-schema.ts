// The request and response schemas of a chat campaign (contract 2.2 and 4.2).
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { recipients_max } from "../../audience/intake/limits.ts";
import { closed, id, mapOf, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { contacts_max, variables_max } from "./intake/limits.ts";

const uuid = "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";

const headFields = {
  name: shownName("The campaign's name"),
  chat_number_id: id("The business chat number to send from"),
  template_id: optional(id("An approved template")),
  flow_id: optional(id("A chat flow")),
  automation_flow_id: optional(
    Type.String({
      pattern: uuid,
      description: "An automation flow (UUID)",
      "x-reason": "must be a UUID",
    }),
  ),
  scheduled_at: optional(
    Type.String({
      maxLength: 64,
      description:
        "When to begin (ISO 8601; local to the account's zone without an offset). Omitted or null: now",
      examples: ["2099-01-31T09:30:00Z"],
    }),
  ),
  mm_lite: optional(
    Type.Boolean({
      description:
        "Send by the provider's marketing route, where the template is marketing and the number is onboarded",
    }),
  ),
};

const exactly_one = "exactly one of template_id, flow_id and automation_flow_id";

/** One recipient. `phone_number` accepts any text; an invalid number is trimmed, never an error. */
export const Contact = closed(
  {
    phone_number: Type.String({
      description:
        "Digits with country code, or the WhatsApp user ID (BSUID) of a customer whose number is unknown",
      examples: ["919876543210"],
    }),
    variables: optional(
      mapOf(Type.String(), {
        maxProperties: variables_max,
        description: "Values of the message's placeholders",
      }),
    ),
  },
  { title: "ChatCampaignContact" },
);

/** All fields of a campaign except its recipients, common to requests of every form. */
export const CampaignHead = closed(headFields);
export type CampaignHead = Static<typeof CampaignHead>;

/**
 * The body of campaign creation (contract 4.2), for documentation; read-contacts.ts validates the
 * recipients.
 */
export const NewChatCampaign = closed(
  {
    ...headFields,
    contacts: optional(
      Type.Array(Contact, { maxItems: contacts_max, description: "One entry per recipient" }),
    ),
  },
  {
    title: "NewChatCampaign",
    description: `A campaign to send: ${exactly_one}, and at least one recipient`,
    examples: [
      {
        name: "Spring sale",
        chat_number_id: 1,
        template_id: 1,
        contacts: [{ phone_number: "919876543210", variables: { "1": "Ada" } }],
      },
    ],
  },
);

/** The same, with a saved group as recipients. */
export const NewGroupCampaign = closed(
  {
    ...headFields,
    group_id: Type.Unsafe<number | string>({
      type: ["integer", "string"],
      format: "int64",
      pattern: "^[0-9]{1,19}$",
      description: "The group whose members are the recipients, as a number or a string",
      "x-reason": "must be the id of a group",
    }),
  },
  {
    title: "NewGroupChatCampaign",
    description: `A campaign to send to a group: ${exactly_one}`,
    examples: [{ name: "Spring sale", chat_number_id: 1, template_id: 1, group_id: 1 }],
  },
);

export type NewGroupCampaign = Static<typeof NewGroupCampaign>;

/** The parts of an upload; they may come in any order. */
export const ChatCampaignUpload = Type.Object(
  {
    file: Type.String({
      format: "binary",
      description: `A CSV of at most 256 MB and ${recipients_max} rows; every other column than the numbers' is a variable`,
    }),
    ...headFields,
    phone_column: Type.Optional(
      Type.String({ description: "The numbers' column: phone_number, else phone, unless said" }),
    ),
    variables: Type.Optional(
      Type.String({ description: "JSON object {variable: column}: only these are variables" }),
    ),
  },
  { title: "ChatCampaignUpload", description: `A campaign to send: ${exactly_one}` },
);

/** The campaign: exactly these nine fields (contract 2.2). */
export const ChatCampaignResponse = Type.Object(
  {
    id: id("Campaign id"),
    name: Type.String(),
    status: Type.String({
      description: "running when it sends now, scheduled when it begins later",
    }),
    total_contacts: Type.Integer({ description: "Recipients that remained after trimming" }),
    sent_count: Type.Integer({ description: "Taken by the provider" }),
    failed_count: Type.Integer({ description: "Not delivered, skipped or cancelled" }),
    pending_count: Type.Integer({
      description: "Still to be sent, or with an outcome not yet known",
    }),
    scheduled_at: nullable(timestamp("UTC; null when it sends now")),
    created_at: timestamp("UTC"),
  },
  { title: "ChatCampaign" },
);
export type ChatCampaignResponse = Static<typeof ChatCampaignResponse>;

/** How many recipients were omitted at creation, and why. */
export const Trimmed = Type.Object(
  {
    invalid: Type.Integer({ description: "No possible phone number" }),
    duplicate: Type.Integer({ description: "The number was there before" }),
    blacklisted: Type.Integer({ description: "Suppressed, opted out included" }),
  },
  { title: "TrimmedCounts" },
);
export type Trimmed = Static<typeof Trimmed>;

/** Whether the marketing route was requested, whether it is used, and why not. */
export const MmLite = Type.Object(
  {
    requested: Type.Boolean(),
    used: Type.Boolean({
      description:
        "Also true if the provider requires the route. While the number is not onboarded, or the template's category is not MARKETING and the provider has not required the route since it was reported, messages take the standard route all the same",
    }),
    reason: nullable(
      Type.String({
        description: "Why not: no_template, template_not_marketing or number_not_onboarded",
      }),
    ),
  },
  { title: "MmLite" },
);
export type MmLite = Static<typeof MmLite>;

const SampleMessage = Type.Object(
  {
    phone_number: Type.String(),
    message: nullable(
      Type.Object({}, { additionalProperties: true, description: "As the provider gets it" }),
    ),
    missing: Type.Array(Type.String(), {
      description: "Variables without a value and a default: this recipient would fail",
    }),
  },
  { title: "SampleMessage", description: "A recipient's message" },
);

/** The recipients, cost and estimated finish of a campaign. */
export const CampaignPreview = Type.Object(
  {
    total_contacts: Type.Integer({ description: "Recipients that would remain after trimming" }),
    trimmed: Trimmed,
    trimmed_samples: Type.Array(
      Type.Object({
        phone_number: Type.String(),
        reason: Type.Unsafe<keyof Trimmed>({
          type: "string",
          enum: ["invalid", "duplicate", "blacklisted"],
        }),
      }),
      { description: "The first that would be trimmed" },
    ),
    credits: Type.Object({
      needed: Type.Integer(),
      available: Type.Integer({ format: "int64" }),
      sufficient: Type.Boolean(),
    }),
    mm_lite: MmLite,
    starts_at: timestamp("UTC"),
    finishes_at: timestamp(
      "UTC: when the last message would be out, by the number's rate and what waits on it already; holds and the quiet time are not foreseen",
    ),
    sample: SampleMessage,
    samples: Type.Array(SampleMessage, {
      description: "The messages to the first three recipients",
    }),
  },
  { title: "ChatCampaignPreview" },
);
export type CampaignPreview = Static<typeof CampaignPreview>;
