// Request and response schemas of suppressions.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, pageQuery, timestamp } from "../../lib/schemas.ts";
import { CsvRejects, csvFile } from "../intake/csv-schema.ts";

/** What a suppression forbids: messages, calls, or both. */
export const channels = ["all", "chat", "voice"] as const;
export type Channel = (typeof channels)[number];

/** Whether a suppression forbids everything on its channel, or marketing only. */
export const scopes = ["all", "marketing"] as const;
export type Scope = (typeof scopes)[number];

/** The origin of a suppression. */
export const suppression_sources = [
  "manual",
  "import",
  "reply",
  "provider",
  "dtmf",
  "ai_call",
  "auto_block",
] as const;
export type SuppressionSource = (typeof suppression_sources)[number];

const scope_description =
  "all: everything on the channel; marketing: calls, and messages except UTILITY and AUTHENTICATION templates";

/** Sources whose requests may arrive late, twice and out of order: the time of their lifting is kept. */
export const late_sources = ["reply", "provider"] as const;
export type LateSource = (typeof late_sources)[number];

/** Returns whether a source is one of late_sources. */
export function isLateSource(source: string): source is LateSource {
  return late_sources.some((late) => late === source);
}

/** What proves a suppression, by source. */
export type Evidence = {
  /** reply, provider: the provider's ID of the message or webhook, and its text. */
  readonly message_id?: string;
  readonly reply_id?: number;
  readonly chat_number_id?: number;
  readonly text?: string | null;
  /** dtmf, ai_call, auto_block: the call, and the key pressed. */
  readonly call_id?: number;
  readonly key?: string;
};

/**
 * Returns evidence for the suppression of another key that may be the person's: their words and the ID of their message
 * are stored under one key only, so that an erasure finds them.
 */
export function withoutWords({ text: _text, message_id: _id, ...evidence }: Evidence): Evidence {
  return evidence;
}

const channel = (description: string) =>
  Type.Unsafe<Channel>(Type.String({ enum: channels, description }));
const scope = (description: string) =>
  Type.Unsafe<Scope>(Type.String({ enum: scopes, description }));
const source = Type.Unsafe<SuppressionSource>(Type.String({ enum: suppression_sources }));

/** A text that `readPersonPhone` validates; a longer one cannot be a phone number. */
export const personPhone = Type.String({
  maxLength: 250,
  description: "Ten digits of the account's country, or + and the country code",
});

export const NewSuppression = closed(
  {
    phone_number: personPhone,
    channel: optional(channel("What to suppress. Default: all")),
    scope: optional(scope(`${scope_description}. Default: all`)),
    reason: optional(Type.String({ maxLength: 255, description: "Default: manual" })),
    expires_at: optional(
      Type.String({
        maxLength: 64,
        description: "ISO 8601; without an offset, in the account's time zone. Default: never",
      }),
    ),
  },
  {
    title: "NewSuppression",
    description: "A number to suppress",
    examples: [{ phone_number: "9876543210", channel: "chat", reason: "asked by phone" }],
  },
);
export type NewSuppression = Static<typeof NewSuppression>;

export const SuppressionResponse = Type.Object(
  {
    id: id("Suppression id"),
    phone_number: nullable(
      Type.String({
        description:
          "E.164 digits as given, without a plus; every spelling of the number is suppressed. Null while only the WhatsApp user ID is known",
      }),
    ),
    bsuid: nullable(
      Type.String({ description: "WhatsApp's business-scoped user ID, if a message named it" }),
    ),
    channel: channel("What is suppressed"),
    scope: scope(scope_description),
    reason: Type.String(),
    source,
    occurred_at: timestamp("UTC: when it was last asked for"),
    evidence: nullable(
      Type.Unsafe<Evidence>({
        type: "object",
        additionalProperties: true,
        description:
          "What proves it. reply, provider: message_id, reply_id, chat_number_id, text; dtmf, ai_call, auto_block: call_id, key",
      }),
    ),
    expires_at: nullable(timestamp("UTC; null: never")),
    active: Type.Boolean({ description: "Whether it is in effect now" }),
    created_by: nullable(id("User id; null if Trunkline added it")),
    created_at: timestamp("UTC: when it was last added or extended"),
  },
  { title: "Suppression" },
);
export type SuppressionResponse = Static<typeof SuppressionResponse>;

/** The filters of a list of suppressions. */
export const suppressionFilterQuery = {
  phone_number: Type.Optional(personPhone),
  channel: Type.Optional(channel("Exactly this channel")),
  scope: Type.Optional(scope("Exactly this scope")),
  source: Type.Optional(source),
  active: Type.Optional(Type.Boolean({ description: "Whether it is in effect now" })),
};

export const suppressionQuery = { ...suppressionFilterQuery, ...pageQuery };

/** The parts of an upload, in any order. */
export const SuppressionUpload = Type.Object(
  {
    file: csvFile,
    phone_number_column: Type.Optional(
      Type.String({ description: "Header of the column with the numbers. Default: phone_number" }),
    ),
    channel: Type.Optional(channel("What to suppress. Default: all")),
    scope: Type.Optional(scope(`${scope_description}. Default: all`)),
    reason: Type.Optional(Type.String({ maxLength: 255, description: "Default: import" })),
    expires_at: Type.Optional(Type.String({ description: "As for a single suppression" })),
  },
  { title: "SuppressionUpload" },
);

export const SuppressionImport = Type.Object(
  {
    total_rows: Type.Integer({ description: "Rows below the header, without empty rows" }),
    suppressed_count: Type.Integer({ description: "Distinct valid numbers in the file" }),
    changed_count: Type.Integer({
      description: "Numbers whose suppression by an import is new or was extended",
    }),
    ...CsvRejects,
  },
  { title: "SuppressionImport" },
);
export type SuppressionImport = Static<typeof SuppressionImport>;
