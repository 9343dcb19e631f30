// Callback endpoints in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";

const url_characters_max = 2_048;
/** More than the number of event types, so that a list of all types is valid. */
export const types_max = 200;

/** The number of endpoints that an account can create. */
export const endpoints_max = 50;

export const endpoint_kinds = ["account", "campaign"] as const;
export type EndpointKind = (typeof endpoint_kinds)[number];

const kind = Type.Enum(endpoint_kinds, {
  type: "string",
  description:
    "account: created by this API, receives its types. campaign: the callback_url of voice campaigns, receives the events of their calls",
});

const url = Type.String({
  minLength: 1,
  maxLength: url_characters_max,
  pattern: "^[Hh][Tt][Tt][Pp][Ss]?://\\S+$",
  description: "The http or https URL that receives callbacks, without a user name",
  "x-reason": `must be an http or https URL of at most ${url_characters_max} characters, without spaces`,
});
const description = Type.String({ maxLength: 255, description: "What the endpoint is for" });
const types = nullable(
  Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    minItems: 1,
    maxItems: types_max,
    uniqueItems: true,
    description:
      "The event types that it receives (GET /api/v1/callbacks/event-types); null for all",
  }),
);

/** The body of an endpoint's creation; validateEndpoint checks what this schema cannot express. */
export const NewEndpoint = closed(
  { url, description: optional(description), types: Type.Optional(types) },
  {
    title: "NewCallbackEndpoint",
    description: "A callback endpoint to create",
    examples: [
      {
        url: "https://example.com/callbacks",
        description: "The shop",
        types: ["call.completed", "chat.campaign.completed"],
      },
    ],
  },
);
export type NewEndpoint = Static<typeof NewEndpoint>;

export const EndpointPatch = closed(
  {
    url: Type.Optional(url),
    description: Type.Optional(description),
    types: Type.Optional(types),
    enabled: Type.Optional(
      Type.Boolean({
        description:
          "When enabled again, it receives its pending deliveries; events that occurred while it was disabled can be replayed",
      }),
    ),
  },
  {
    title: "CallbackEndpointPatch",
    minProperties: 1,
    description: "The fields to change; of a campaign's endpoint, only enabled",
    examples: [{ enabled: false }],
  },
);
export type EndpointPatch = Static<typeof EndpointPatch>;

const fields = {
  id: id("Endpoint id"),
  kind,
  url: Type.String(),
  description: Type.String(),
  types: nullable(Type.Array(Type.String(), { description: "Null: all event types" })),
  enabled: Type.Boolean({
    description: "A disabled endpoint receives nothing, and no deliveries are created for it",
  }),
  disabled_reason: nullable(
    Type.Enum(["manual", "failing", "gone"], {
      type: "string",
      description: "failing: it failed for days; gone: it responded with 410",
    }),
  ),
  disabled_at: nullable(timestamp("UTC")),
  failing_since: nullable(
    timestamp("UTC: the first failure since the last success or since nothing was pending"),
  ),
  resume_at: nullable(
    timestamp(
      "UTC: nothing is sent before, because the endpoint requested a pause or keeps failing",
    ),
  ),
  created_at: timestamp("UTC"),
  updated_at: timestamp("UTC"),
};

export const EndpointResponse = Type.Object(fields, { title: "CallbackEndpoint" });
export type EndpointResponse = Static<typeof EndpointResponse>;

const secret_text = "Signs callbacks (Standard Webhooks)";
const secret_once = nullable(
  Type.String({
    description: `${secret_text}; null in a response that is replayed for its Idempotency-Key`,
  }),
);
const old_secret_until = nullable(
  timestamp("UTC: until when the previous secret also signs; null if there is none"),
);

/** A created endpoint with its secret. */
export const CreatedEndpoint = Type.Object(
  { ...fields, secret: secret_once },
  { title: "CreatedCallbackEndpoint" },
);
export type CreatedEndpoint = Static<typeof CreatedEndpoint>;

/** An endpoint with a new secret. */
export const RotatedEndpoint = Type.Object(
  { ...fields, secret: secret_once, old_secret_until },
  { title: "RotatedCallbackEndpoint" },
);
export type RotatedEndpoint = Static<typeof RotatedEndpoint>;

export const EndpointSecret = Type.Object(
  {
    secret: Type.String({ description: secret_text }),
    old_secret_until,
  },
  { title: "CallbackSecret" },
);
export type EndpointSecret = Static<typeof EndpointSecret>;

export const SentTest = Type.Object(
  {
    webhook_id: Type.String({ description: "The webhook-id of the callback" }),
  },
  { title: "SentCallbackTest" },
);
export type SentTest = Static<typeof SentTest>;

/** The filter of a list of endpoints. */
export const endpointFilter = {
  kind: Type.Optional(kind),
  url: Type.Optional(
    Type.String({ maxLength: url_characters_max, description: "Only this exact URL" }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: "Only enabled or only disabled endpoints" })),
};
