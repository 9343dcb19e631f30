// Request and response schemas of a voice campaign launch (contract 2.3 and 4.3).
import Type, { type Static } from "typebox";
import { recipients_max } from "../../audience/intake/limits.ts";
import { call_types } from "../../calls/state-machine/voice-plan.ts";
import { closed, id, mapOf, nullable, optional, phone10, timestamp } from "../../lib/schemas.ts";

export const send_tos = ["Numbers", "csv", "Group"] as const;
/** The recipient source. */
export type SendTo = (typeof send_tos)[number];

const callType = Type.Enum(call_types, {
  type: "string",
  description:
    "obd_voice_call plays the file; obd_smartvoice synthesizes its script with each recipient's variables; obd_ivr follows its menu; ai_bot uses its AI agent",
});
const voiceFileId = id("A ready voice file of the account that has what the call_type requires");
const name_reason = "must have 1 to 191 characters and not be blank";
const url_reason = "must be an http or https URL of at most 2,048 characters";

const fields = {
  campaign_name: Type.String({
    minLength: 1,
    maxLength: 191,
    pattern: "\\S",
    description: "The campaign's name",
    "x-reason": name_reason,
  }),
  voice_file_id: voiceFileId,
  call_type: callType,
  sendTo: Type.Enum(send_tos, {
    type: "string",
    description:
      "The recipient source: the numbers in `number`, a CSV file or a saved group. Fields of the other sources are ignored",
  }),
  number: optional(
    Type.String({
      description: `Ten-digit numbers, separated by commas; at most ${recipients_max}. Required for Numbers`,
      examples: ["9876543210, 9876543211"],
    }),
  ),
  groupId: optional(
    Type.String({ description: "Group id, in digits. Required for Group", examples: ["1"] }),
  ),
  csv_number_column: optional(
    Type.String({
      description: "Header of the column with the numbers. Required for csv",
      examples: ["phone"],
    }),
  ),
  max_retry: optional(
    Type.Integer({
      minimum: 1,
      maximum: 3,
      description: "How often a busy or unanswered number is redialed",
      examples: [2],
    }),
  ),
  retry_after: optional(
    Type.Integer({
      minimum: 0,
      maximum: 30,
      description: "Minutes between attempts, at least one also with 0. Required with max_retry",
      examples: [10],
    }),
  ),
  schedulled_at: optional(
    Type.String({
      maxLength: 64,
      description:
        "Start time (ISO 8601; without an offset, in the account's time zone). Omitted, null or empty: now",
      examples: ["2099-01-31T09:30:00Z"],
    }),
  ),
  callback_url: optional(
    Type.String({
      maxLength: 2_048,
      pattern: "^[Hh][Tt][Tt][Pp][Ss]?://\\S+$",
      description: "URL that receives the events of the campaign's calls",
      examples: ["https://example.com/calls"],
      "x-reason": url_reason,
    }),
  ),
  crm_workspace_id: optional(
    Type.String({
      pattern: "^[0-9]{0,19}$",
      description: "CRM workspace that call outcomes are written to, in digits",
      examples: ["1"],
      "x-reason": "must be the id of a workspace, in digits",
    }),
  ),
};

/** The body of a launch (contract 4.3). Null equals omitted. */
export const NewVoiceCampaign = closed(fields, {
  title: "NewVoiceCampaign",
  description: "A voice campaign to launch; with sendTo csv, multipart/form-data",
  examples: [
    {
      campaign_name: "Delivery day",
      voice_file_id: 1,
      call_type: "obd_voice_call",
      sendTo: "Numbers",
      number: "9876543210, 9876543211",
    },
  ],
});
export type NewVoiceCampaign = Static<typeof NewVoiceCampaign>;

/** The same as multipart/form-data, with its parts in any order. */
export const VoiceCampaignUpload = Type.Object(
  {
    file: Type.Optional(
      Type.String({
        format: "binary",
        description: `A CSV of at most 256 MB and ${recipients_max} rows; its other columns are the recipients' variables. Required for csv`,
      }),
    ),
    ...fields,
  },
  { title: "VoiceCampaignUpload", description: "A voice campaign to launch" },
);

/** The response to a launch (contract 2.3). */
export const VoiceCampaignResponse = Type.Object(
  {
    success: Type.Literal(true),
    id: Type.String({ format: "uuid" }),
    campaignId: id("Campaign id, the campaign_id of its calls"),
  },
  { title: "CreatedVoiceCampaign" },
);
export type VoiceCampaignResponse = Static<typeof VoiceCampaignResponse>;

/** A test call that is not placed within this time is cancelled. */
export const test_call_minutes_max = 10;

/** A test call with a voice file. */
export const NewTestCall = closed(
  {
    voice_file_id: voiceFileId,
    call_type: callType,
    number: phone10("The number to call"),
    variables: optional(
      mapOf(Type.String(), {
        maxProperties: 500,
        description: "Values for {{variables}}",
      }),
    ),
  },
  {
    title: "NewTestCall",
    description: `One call with the content that a campaign's recipients would get. It is cancelled if it is not placed within ${test_call_minutes_max} minutes`,
    examples: [{ voice_file_id: 1, call_type: "obd_voice_call", number: "9876543210" }],
  },
);
export type NewTestCall = Static<typeof NewTestCall>;

/** A rejected row of the file, entry of the list or member of the group. */
export const VoiceReject = Type.Object(
  {
    row: Type.Integer({
      description: "Row in the file, whose header is row 1, or position in the list",
    }),
    value: Type.String({ description: "The number as sent, at most 64 characters" }),
    reason: Type.String(),
  },
  { title: "VoiceReject" },
);
export type VoiceReject = Static<typeof VoiceReject>;

/** How many places of numbers a preview names. */
export const zones_shown_max = 20;

/** Recipients of a preview by where their numbers may be. */
const VoiceCampaignZone = Type.Object(
  {
    time_zones: Type.Array(Type.String(), {
      description: "IANA names: where the numbers may be; empty: unknown",
    }),
    recipients: Type.Integer({ description: "That are not suppressed" }),
    callable_from: nullable(
      timestamp("UTC: when they may first be called; null if the window never opens for them"),
    ),
    at_night: Type.Boolean({
      description:
        "Whether first attempts may reach them outside 09:00 to 21:00 by a clock there, because the account's calling window allows it",
    }),
  },
  { title: "VoiceCampaignZone" },
);

/** A dry run of a launch. */
export const VoiceCampaignPreview = Type.Object(
  {
    total: Type.Integer({ description: "Recipients the campaign would have" }),
    rejected: Type.Integer({ description: "Rows that are not valid" }),
    duplicates: Type.Integer({ description: "Rows with the number of an earlier row" }),
    suppressed: Type.Integer({ description: "Recipients that are suppressed now" }),
    suppressed_samples: Type.Array(Type.String(), {
      description: "The first suppressed numbers: digits with country code",
    }),
    rejects: Type.Array(VoiceReject, { description: "The first rejected rows" }),
    credits: Type.Object({
      needed: Type.Integer({ description: "For the first pulse of one attempt per recipient" }),
      available: Type.Integer({ format: "int64" }),
      sufficient: Type.Boolean({
        description: "If false, the campaign pauses when the credit is used up",
      }),
    }),
    starts_at: nullable(
      timestamp(
        "UTC: when the first recipient may be called; null if the calling window never opens for any",
      ),
    ),
    finishes_at: nullable(
      timestamp(
        "UTC: the estimated end of the first attempts, within the calling window where each recipient is and without other traffic on the trunk; null if it never opens for some",
      ),
    ),
    zones: Type.Array(VoiceCampaignZone, {
      description: `By where the numbers are, most first, at most ${zones_shown_max}`,
    }),
    daytime_from: nullable(
      timestamp(
        "UTC: when the calling window is open and it is 09:00 to 21:00 in all of these zones; null if it never is in all",
      ),
    ),
    calls_per_second: Type.Integer({ description: "Of the trunk" }),
  },
  { title: "VoiceCampaignPreview" },
);
export type VoiceCampaignPreview = Static<typeof VoiceCampaignPreview>;
