// A suppression as it goes in and comes out of the API.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, pageQuery, timestamp } from "../../lib/schemas.ts";
import { CsvRejects, csvFile } from "../intake/csv-schema.ts";

/** What a suppression keeps from a number: messages, calls, or both. */
export const channels = ["all", "chat", "voice"] as const;
export type Channel = (typeof channels)[number];

/** Where a suppression came from. */
export const suppression_sources = [
  "manual",
  "import",
  "reply",
  "provider",
  "dtmf",
  "auto_block",
] as const;
export type SuppressionSource = (typeof suppression_sources)[number];

const channel = (description: string) =>
  Type.Unsafe<Channel>(Type.String({ enum: channels, description }));
const source = Type.Unsafe<SuppressionSource>(Type.String({ enum: suppression_sources }));

/** Texts that `readPersonPhone` validates: whatever is longer is no number. */
export const personPhone = Type.String({
  maxLength: 250,
  description: "Ten digits of the account's country, or + and the country code",
});

export const NewSuppression = closed(
  {
    phone_number: personPhone,
    channel: optional(channel("What to keep from the number; all unless said")),
    reason: optional(Type.String({ maxLength: 255, description: "manual unless said" })),
    expires_at: optional(
      Type.String({
        maxLength: 64,
        description: "ISO 8601; without an offset, the account's zone. For ever unless said",
      }),
    ),
  },
  {
    description: "A number not to write to or call",
    examples: [{ phone_number: "9876543210", channel: "chat", reason: "asked by phone" }],
  },
);
export type NewSuppression = Static<typeof NewSuppression>;

export const SuppressionAnswer = Type.Object({
  id: id("Suppression id"),
  phone_number: Type.String({ description: "E.164 digits, without a plus" }),
  channel: channel("What is kept from the number"),
  reason: Type.String(),
  source,
  expires_at: nullable(timestamp("UTC; null: for ever")),
  active: Type.Boolean({ description: "Whether it holds now" }),
  created_by: nullable(id("User id; null when the service did it")),
  created_at: timestamp("UTC: since when it holds as it does"),
});
export type SuppressionAnswer = Static<typeof SuppressionAnswer>;

/** What suppressions are narrowed to. */
export const suppressionFilterQuery = {
  phone_number: Type.Optional(personPhone),
  channel: Type.Optional(channel("Exactly this one")),
  source: Type.Optional(source),
  active: Type.Optional(Type.Boolean({ description: "Whether it holds now" })),
};

export const suppressionQuery = { ...suppressionFilterQuery, ...pageQuery };

/** The parts of an upload; they may come in any order. */
export const SuppressionUpload = Type.Object({
  file: csvFile,
  phone_number_column: Type.Optional(
    Type.String({ description: "Header of the numbers' column; phone_number unless said" }),
  ),
  channel: Type.Optional(channel("What to keep from the numbers; all unless said")),
  reason: Type.Optional(Type.String({ maxLength: 255, description: "import unless said" })),
  expires_at: Type.Optional(Type.String({ description: "As for a single one" })),
});

export const SuppressionImport = Type.Object({
  total_rows: Type.Integer({ description: "Rows below the header, empty ones not counted" }),
  suppressed_count: Type.Integer({ description: "Numbers that are suppressed by the file" }),
  changed_count: Type.Integer({ description: "Those of them that were not, or not for as long" }),
  ...CsvRejects,
});
export type SuppressionImport = Static<typeof SuppressionImport>;
