// A voice campaign as it is asked for and answered (contract 2.3 and 4.3).
import Type, { type Static } from "typebox";
import { recipients_max } from "../../audience/intake/limits.ts";
import { call_types } from "../../calls/state-machine/voice-plan.ts";
import { closed, id, nullable, optional, phone10, timestamp } from "../../lib/schemas.ts";

export const send_tos = ["Numbers", "csv", "Group"] as const;
/** Where the recipients come from. */
export type SendTo = (typeof send_tos)[number];

const callType = Type.Enum(call_types, {
  type: "string",
  description:
    "obd_voice_call plays the file; obd_smartvoice speaks its script with each recipient's variables; obd_ivr goes through its menu; ai_bot is its AI agent",
});
const voiceFileId = id("A voice file of the account, ready, with what the call_type needs");
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
      "Whom to call: the numbers of `number`, of a CSV file, or of a saved group. Fields of the others are ignored",
  }),
  number: optional(
    Type.String({
      description: `Ten-digit numbers, separated by commas; at most ${recipients_max}. Required for Numbers`,
      examples: ["9876543210, 9876543211"],
    }),
  ),
  groupId: optional(
    Type.String({ description: "The group's id, in digits. Required for Group", examples: ["1"] }),
  ),
  csv_number_column: optional(
    Type.String({
      description: "Header of the numbers' column. Required for csv",
      examples: ["phone"],
    }),
  ),
  max_retry: optional(
    Type.Integer({
      minimum: 1,
      maximum: 3,
      description: "How often a number that is busy or does not answer is called again",
      examples: [2],
    }),
  ),
  retry_after: optional(
    Type.Integer({
      minimum: 0,
      maximum: 30,
      description: "Minutes between such attempts. Required with max_retry",
      examples: [10],
    }),
  ),
  schedulled_at: optional(
    Type.String({
      maxLength: 64,
      description:
        "When to begin (ISO 8601; local to the account's zone without an offset). Omitted, null or empty: now",
      examples: ["2099-01-31T09:30:00Z"],
    }),
  ),
  callback_url: optional(
    Type.String({
      maxLength: 2_048,
      pattern: "^[Hh][Tt][Tt][Pp][Ss]?://\\S+$",
      description: "Where events of the campaign's calls are sent to",
      examples: ["https://example.com/calls"],
      "x-reason": url_reason,
    }),
  ),
  crm_workspace_id: optional(
    Type.String({
      pattern: "^[0-9]{0,19}$",
      description: "The CRM workspace that outcomes are written to, in digits",
      examples: ["1"],
      "x-reason": "must be the id of a workspace, in digits",
    }),
  ),
};

/** The body of a launch (contract 4.3). Null is as good as omitted. */
export const NewVoiceCampaign = closed(fields, {
  description: "A voice campaign to launch. With sendTo csv it is sent as multipart/form-data",
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

/** The same as a form, its parts in any order. */
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
  { description: "A voice campaign to launch" },
);

/** What a launch is answered with (contract 2.3). */
export const VoiceCampaignAnswer = Type.Object({
  success: Type.Literal(true),
  id: Type.String({ format: "uuid" }),
  campaignId: id("What the campaign and its calls are found by"),
});
export type VoiceCampaignAnswer = Static<typeof VoiceCampaignAnswer>;

/** A call to try a voice file with. */
export const NewTestCall = closed(
  {
    voice_file_id: voiceFileId,
    call_type: callType,
    number: phone10("Whom to call"),
    variables: optional(
      Type.Record(Type.String(), Type.String(), {
        maxProperties: 500,
        description: "Values of what is said",
      }),
    ),
  },
  {
    description: "One call to hear what a campaign's recipients will",
    examples: [{ voice_file_id: 1, call_type: "obd_voice_call", number: "9876543210" }],
  },
);
export type NewTestCall = Static<typeof NewTestCall>;

/** A row of the file, an entry of the list or a member of the group that is not called. */
export const VoiceReject = Type.Object({
  row: Type.Integer({
    description: "Its row in the file, whose header is row 1, or its place in the list",
  }),
  value: Type.String({ description: "The number as it stands there, at most 64 characters" }),
  reason: Type.String(),
});
export type VoiceReject = Static<typeof VoiceReject>;

/** What a launch would come to. */
export const VoiceCampaignPreview = Type.Object({
  total: Type.Integer({ description: "Recipients the campaign would have" }),
  rejected: Type.Integer({ description: "Rows left out for what is wrong with them" }),
  duplicates: Type.Integer({ description: "Rows with a number of an earlier row" }),
  suppressed: Type.Integer({ description: "Recipients that may not be called just now" }),
  rejects: Type.Array(VoiceReject, { description: "The first rows left out" }),
  credits: Type.Object({
    needed: Type.Integer({ description: "For the first pulse of one attempt each" }),
    available: Type.Integer({ format: "int64" }),
    sufficient: Type.Boolean({ description: "If not, the campaign pauses when they are used up" }),
  }),
  starts_at: nullable(
    timestamp("UTC: when calling may begin; null when the account's calling time is never"),
  ),
  finishes_at: nullable(
    timestamp(
      "UTC: when the last number would have been called once, with the trunk to itself and within the calling time",
    ),
  ),
  calls_per_second: Type.Integer({ description: "Of the trunk" }),
});
export type VoiceCampaignPreview = Static<typeof VoiceCampaignPreview>;
