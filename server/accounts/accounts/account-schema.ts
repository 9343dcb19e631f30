// The account in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional } from "../../lib/schemas.ts";
import { features, type Feature } from "../permissions.ts";
import { CallCaps } from "./internal/call-caps-schema.ts";
import { storage } from "./internal/storage-schema.ts";

/** A name for people: neither empty nor blank. */
export const shownName = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: "\\S",
    description,
    "x-reason": "must have 1 to 255 characters and not be blank",
  });

const country_code = Type.String({
  pattern: "^[1-9][0-9]{0,2}$",
  description:
    "Country code that is prefixed to ten-digit numbers, without a plus; cannot be changed while the account has contacts",
  "x-reason": "must be 1 to 3 digits and not begin with 0",
});
const time_zone = Type.String({
  maxLength: 64,
  description: "IANA name; times without an offset are local to it",
});
const feature = Type.Unsafe<Feature>({ type: "string", enum: features });

/** A pattern. */
export const time_of_day = "([01][0-9]|2[0-3]):[0-5][0-9]";
const quiet_time = (description: string) =>
  nullable(
    Type.String({
      pattern: `^${time_of_day}$`,
      description,
      "x-reason": "must be a time of day such as 21:00, or null",
    }),
  );

/** Settings of the account's chat campaigns. */
const chat = {
  valid_numbers_only: Type.Boolean({
    description: "Also trim numbers that are possible but not valid",
  }),
  stop_words: Type.Array(
    Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: "\\S",
      "x-reason": "must have 1 to 64 characters and not be blank",
    }),
    {
      maxItems: 50,
      description:
        "Replies that opt out if they begin or end with one of these, in addition to the built-in words of many languages",
    },
  ),
  stop_scope: Type.Enum(["all", "marketing"] as const, {
    type: "string",
    description: "What a reply with a stop word ends: all messages, or marketing messages only",
  }),
  quiet_from: quiet_time("Start of the quiet time, in the account's time zone; null for none"),
  quiet_to: quiet_time("End of the quiet time, on the next day if it is earlier than quiet_from"),
  error_percent: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: "A campaign is paused when this share of its last attempts failed",
  }),
};

/** A list of countries that may be called. */
export const destinations = (description: string) =>
  Type.Array(
    Type.String({ pattern: "^([A-Z]{2}|[*])$", "x-reason": "must be a country such as IN, or *" }),
    {
      maxItems: 300,
      uniqueItems: true,
      description,
    },
  );

const ring_seconds = (description: string) =>
  Type.Integer({ minimum: 5, maximum: 120, description });

/** Settings of the account's calls. */
const calls = {
  night_calling: Type.Boolean({ description: "Place calls at any time, regardless of the window" }),
  calling_from: Type.String({
    pattern: `^${time_of_day}$`,
    description:
      "Start of the calling window. A customer is called only while the window is open both in the account's time zone and in every zone that the customer may be in, by the phone's prefix or the contact's time zone",
    "x-reason": "must be a time of day such as 09:00",
  }),
  calling_to: Type.String({
    pattern: `^(${time_of_day}|24:00)$`,
    description:
      "End of the window, on the next day if it is earlier than calling_from; equal times allow no calls",
    "x-reason": "must be a time of day such as 21:00, or 24:00",
  }),
  recorded: Type.Boolean({ description: "Record calls from when both sides are connected" }),
  agent_ring_seconds: ring_seconds("How long an agent's phone rings"),
  customer_ring_seconds: ring_seconds("How long a customer's phone rings"),
  talk_minutes_max: Type.Integer({
    minimum: 1,
    maximum: 1_440,
    description: "The longest conversation; a longer one is hung up",
  }),
  accept_voice_file_id: nullable(
    id(
      "The voice file that asks agents on phone numbers to press 1 before a customer is connected, so that voicemail does not count as an agent; null: they are not asked",
    ),
  ),
  busy_voice_file_id: nullable(
    id(
      "The voice file that is played to callers of campaigns and of phone numbers when no agent is free, instead of the built-in message; 1 still asks for a callback where the campaign offers one; null: the built-in message",
    ),
  ),
  calls_per_customer_day: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description:
        "The most times in any 24 hours that a customer's phone is rung, by campaigns and click-to-calls together; callbacks that the customer asked for, though not their retries, and test calls are placed all the same; null: no limit",
      "x-reason": "must be 1 to 100 calls, or null for no limit",
    }),
  ),
  destinations: nullable(
    destinations(
      "The countries (ISO 3166-1 alpha-2) that the account calls, of those in destinations_allowed; null: all of these",
    ),
  ),
};

const days = (description: string, minimum = 1) =>
  nullable(
    Type.Integer({
      minimum,
      maximum: 3650,
      description,
      "x-reason": `must be ${minimum} to 3650 days, or null for no limit`,
    }),
  );

/** Retention periods (docs/guides/retention.md). */
const retention = {
  messages_days: days("Recipients of finished chat campaigns, and replies; null: no limit"),
  calls_days: days("Calls, and the recipients of finished voice campaigns; null: no limit"),
  recordings_days: days("Recordings, if deleted before their calls; null: as long as the calls"),
  events_days: days("Events, their callback deliveries and live progress; null: no limit"),
  idempotency_keys_days: days(
    "Idempotency keys with their responses, but those of chat campaigns; null: no limit",
  ),
  audit_days: days("Entries of the audit trail; null: no limit", 365),
  ledger_days: days("Credit transfers, before they are added up by day; null: no limit", 365),
};

const credit_low = (kind: string) =>
  Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000_000_000,
    description: `Low-credit threshold: records credit.low below this many available ${kind} credits; 0: never`,
  });

/** Low-credit thresholds. */
const credits = { chat_low: credit_low("chat"), call_low: credit_low("call") };

const Notice = closed(
  { chat_number_id: id("Chat number id"), template_id: id("A template of that number's") },
  { description: "The chat notification that accompanies a call on request; null: none" },
);

/** An account to create, with its owner. */
export const AccountRequest = closed({
  name: shownName("The account's name"),
  owner_name: shownName("The owner's name"),
  owner_email: Type.String({ format: "email", maxLength: 254 }),
  features: Type.Array(feature, { uniqueItems: true }),
  country_code: Type.Optional(country_code),
  time_zone: Type.Optional(time_zone),
});
export type AccountRequest = Static<typeof AccountRequest>;

/** What an account's users may change; an operator changes its features. */
export const AccountPatch = closed(
  {
    name: Type.Optional(shownName("The account's name")),
    country_code: Type.Optional(country_code),
    time_zone: Type.Optional(time_zone),
    chat: Type.Optional(
      closed(
        {
          valid_numbers_only: Type.Optional(chat.valid_numbers_only),
          stop_words: Type.Optional(chat.stop_words),
          stop_scope: Type.Optional(chat.stop_scope),
          quiet_from: Type.Optional(chat.quiet_from),
          quiet_to: Type.Optional(chat.quiet_to),
          error_percent: Type.Optional(chat.error_percent),
        },
        { title: "ChatSettingsPatch", minProperties: 1 },
      ),
    ),
    calls: Type.Optional(
      closed(
        {
          night_calling: Type.Optional(calls.night_calling),
          calling_from: Type.Optional(calls.calling_from),
          calling_to: Type.Optional(calls.calling_to),
          recorded: Type.Optional(calls.recorded),
          agent_ring_seconds: Type.Optional(calls.agent_ring_seconds),
          customer_ring_seconds: Type.Optional(calls.customer_ring_seconds),
          talk_minutes_max: Type.Optional(calls.talk_minutes_max),
          accept_voice_file_id: Type.Optional(calls.accept_voice_file_id),
          busy_voice_file_id: Type.Optional(calls.busy_voice_file_id),
          calls_per_customer_day: Type.Optional(calls.calls_per_customer_day),
          destinations: Type.Optional(calls.destinations),
          notice: optional(Notice),
        },
        { title: "CallSettingsPatch", minProperties: 1 },
      ),
    ),
    credits: Type.Optional(
      closed(
        { chat_low: optional(credits.chat_low), call_low: optional(credits.call_low) },
        { minProperties: 1 },
      ),
    ),
    retention: Type.Optional(
      Type.Partial(Type.Object(retention), {
        title: "RetentionPatch",
        additionalProperties: false,
        minProperties: 1,
      }),
    ),
  },
  {
    title: "AccountPatch",
    minProperties: 1,
    description: "What to change",
    examples: [{ time_zone: "Asia/Kolkata" }],
  },
);
export type AccountPatch = Static<typeof AccountPatch>;

export const AccountResponse = Type.Object(
  {
    id: id("Account id"),
    name: Type.String(),
    features: Type.Array(feature, { description: "Read only: an operator changes them" }),
    country_code: Type.String(),
    time_zone: Type.String(),
    region_locked: Type.Boolean({
      description: "Whether only an operator changes country_code and time_zone. Read only",
    }),
    requests: Type.Object(
      {
        a_minute: Type.Integer({ description: "Requests per minute of all tokens together" }),
        of_token_a_minute: Type.Integer({ description: "Requests per minute of each token" }),
      },
      { description: "Rate limits over all endpoints. Read only: an operator changes them" },
    ),
    chat: Type.Object(
      {
        writes_a_minute: Type.Integer({
          description:
            "Campaigns the account may create per minute. Read only: an operator changes it",
        }),
        ...chat,
      },
      { title: "ChatSettings" },
    ),
    calls: Type.Object(
      {
        pulse_seconds: Type.Integer({
          description:
            "Billing increment in seconds: each started one of an answered leg costs a credit. Read only: an operator changes it",
        }),
        destinations_allowed: Type.Array(Type.String(), {
          description:
            "The countries that the account may call, or *: by default that of its country_code. Read only: an operator changes it",
        }),
        calling_hours_allowed: nullable(
          Type.String({
            description:
              "The hours in which the calling window must lie, such as 08:00-21:00; the time zone is fixed then, and night_calling false. Null: any. Read only: an operator changes it",
          }),
        ),
        caps: CallCaps,
        ...calls,
        notice: nullable(Notice),
      },
      { title: "CallSettings" },
    ),
    credits: Type.Object(credits),
    retention: Type.Object(retention, { title: "Retention" }),
    storage,
  },
  { title: "Account" },
);
export type AccountResponse = Static<typeof AccountResponse>;
