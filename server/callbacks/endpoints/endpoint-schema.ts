// A callback endpoint as it goes in and comes out of the API.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";

const url_characters_max = 2_048;
/** More than there are types, so that a list of all of them passes. */
export const types_max = 200;

/** Of an account. */
export const endpoints_max = 50;

export const endpoint_kinds = ["account", "campaign"] as const;
export type EndpointKind = (typeof endpoint_kinds)[number];

const kind = Type.Enum(endpoint_kinds, {
  type: "string",
  description:
    "account: made here, told of its types. campaign: the callback_url of voice campaigns, told of their calls",
});

const url = Type.String({
  minLength: 1,
  maxLength: url_characters_max,
  pattern: "^[Hh][Tt][Tt][Pp][Ss]?://\\S+$",
  description: "http or https, without a user name; where callbacks are sent to",
  "x-reason": `must be an http or https URL of at most ${url_characters_max} characters, without spaces`,
});
const description = Type.String({ maxLength: 255, description: "What it is for" });
const types = nullable(
  Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    minItems: 1,
    maxItems: types_max,
    uniqueItems: true,
    description: "What it is told of (GET /api/v1/callbacks/event-types); null: everything",
  }),
);

/** The body of an endpoint's creation; validateEndpoint says what this schema cannot. */
export const NewEndpoint = closed(
  { url, description: optional(description), types: Type.Optional(types) },
  {
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
          "Enabled again, it is sent what waited; what happened meanwhile can be replayed",
      }),
    ),
  },
  {
    minProperties: 1,
    description: "What to change; of a campaign's endpoint only enabled",
    examples: [{ enabled: false }],
  },
);
export type EndpointPatch = Static<typeof EndpointPatch>;

const fields = {
  id: id("Endpoint id"),
  kind,
  url: Type.String(),
  description: Type.String(),
  types: nullable(Type.Array(Type.String(), { description: "Null: everything" })),
  enabled: Type.Boolean({ description: "Nothing is made for, or sent to, one that is not" }),
  disabled_reason: nullable(
    Type.Enum(["manual", "failing", "gone"], {
      type: "string",
      description: "failing: for days; gone: it answered 410",
    }),
  ),
  disabled_at: nullable(timestamp("UTC")),
  failing_since: nullable(timestamp("UTC: the first failure since the last success")),
  resume_at: nullable(
    timestamp("UTC: nothing is sent before, because it asked for a pause or keeps failing"),
  ),
  created_at: timestamp("UTC"),
  updated_at: timestamp("UTC"),
};

export const EndpointAnswer = Type.Object(fields);
export type EndpointAnswer = Static<typeof EndpointAnswer>;

const secret_text = "Signs callbacks (Standard Webhooks)";
const secret_once = nullable(
  Type.String({
    description: `${secret_text}; null when the answer is repeated under its Idempotency-Key`,
  }),
);
const old_secret_until = nullable(
  timestamp("UTC: until then the secret before it signs, too; null when there was none"),
);

/** An endpoint just made. */
export const CreatedEndpoint = Type.Object({ ...fields, secret: secret_once });
export type CreatedEndpoint = Static<typeof CreatedEndpoint>;

/** An endpoint with a new secret. */
export const RotatedEndpoint = Type.Object({ ...fields, secret: secret_once, old_secret_until });
export type RotatedEndpoint = Static<typeof RotatedEndpoint>;

export const EndpointSecret = Type.Object({
  secret: Type.String({ description: secret_text }),
  old_secret_until,
});
export type EndpointSecret = Static<typeof EndpointSecret>;

export const SentTest = Type.Object({
  webhook_id: Type.String({ description: "The webhook-id that the callback will carry" }),
});
export type SentTest = Static<typeof SentTest>;

/** What a list of endpoints may be narrowed to. */
export const endpointFilter = {
  kind: Type.Optional(kind),
  url: Type.Optional(
    Type.String({ maxLength: url_characters_max, description: "Letter for letter" }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: "Only enabled, or only disabled, ones" })),
};
