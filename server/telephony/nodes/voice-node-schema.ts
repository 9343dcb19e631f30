// Voice nodes in API requests and responses: the sandbox, or an Asterisk and the access to its ARI.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { voice_driver_names } from "../../drivers/voice/driver.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";

const name = shownName("Unique in the installation");
const driver = Type.Enum(voice_driver_names, {
  type: "string",
  description: "asterisk: a telephone switch; sandbox: simulated, no phone rings",
});

const url = Type.String({
  maxLength: 2_048,
  description: "The URL of the switch's ARI; may be an internal address",
  examples: ["http://127.0.0.1:8088/ari"],
});
const user = Type.String({
  pattern: "^[^\\s:]{1,128}$",
  description: "As in the switch's ari.conf",
  "x-reason": "must be 1 to 128 characters without spaces and colons",
});
const password = Type.String({ minLength: 1, maxLength: 255, description: "Never returned" });
const application = Type.String({
  pattern: "^[A-Za-z0-9_-]{1,64}$",
  description:
    "A name that no other application uses on this switch; part of the names of recordings",
  "x-reason": "must be 1 to 64 letters, digits, - and _",
});

const cdr_path = Type.String({
  maxLength: 4_096,
  pattern: "^/",
  description:
    "The path of the switch's CDR file, readable by the service; null: the outcome of a call that ends while no leader is connected stays unknown",
  "x-reason": "must be an absolute path of at most 4096 characters",
});
const sounds_dir = Type.String({
  maxLength: 4_000,
  pattern: "^/[^,]*$",
  description:
    "A folder that the service writes and the switch reads under the same path; null: the node cannot play audio and places no campaign calls",
  "x-reason": "must be an absolute path of at most 4000 characters, without a comma",
});
const rate = Type.Integer({ minimum: 1, maximum: 1_000, description: "New legs per second" });
const room = Type.Integer({
  minimum: 1,
  maximum: 100_000,
  description: "Concurrent calls, each with any number of legs",
});
/** The limits of a node, or of a trunk on a node. */
export const load = { calls_per_second: rate, calls_max: room };
const active = Type.Boolean({
  description:
    "An inactive node takes no new calls; its queued calls move to another node of their trunk, if there is one",
});

/** The body that creates a node; validateNewVoiceNode checks what this schema cannot. */
export const NewVoiceNode = closed(
  {
    name,
    driver,
    ari: optional(closed({ url, user, password, app: application }, { title: "NewAriConnection" })),
    cdr_path: optional(cdr_path),
    sounds_dir: optional(sounds_dir),
    ...load,
    active: optional(active),
  },
  {
    title: "NewVoiceNode",
    description: "A voice node to create",
    examples: [{ name: "sandbox 2", driver: "sandbox", calls_per_second: 50, calls_max: 500 }],
  },
);
export type NewVoiceNode = Static<typeof NewVoiceNode>;

/** The body that updates a node; the driver of a node never changes. */
export const VoiceNodePatch = closed(
  {
    name: Type.Optional(name),
    ari: Type.Optional(
      closed(
        {
          url: Type.Optional(url),
          user: Type.Optional(user),
          password: Type.Optional(password),
          app: Type.Optional(application),
        },
        { title: "AriConnectionPatch", minProperties: 1 },
      ),
    ),
    cdr_path: optional(cdr_path),
    sounds_dir: optional(sounds_dir),
    calls_per_second: Type.Optional(rate),
    calls_max: Type.Optional(room),
    active: Type.Optional(active),
  },
  {
    title: "VoiceNodePatch",
    minProperties: 1,
    description: "The fields to change",
    examples: [{ active: false }],
  },
);
export type VoiceNodePatch = Static<typeof VoiceNodePatch>;

export const VoiceNodeResponse = Type.Object(
  {
    id: id("Node id"),
    name: Type.String(),
    driver,
    ari: nullable(
      Type.Object(
        {
          url: Type.String(),
          user: Type.String(),
          password_set: Type.Literal(true),
          app: Type.String(),
        },
        { title: "AriConnection" },
      ),
    ),
    cdr_path: nullable(Type.String()),
    sounds_dir: nullable(Type.String()),
    ...load,
    active,
    connected: Type.Boolean({ description: "Whether the service is connected to the node" }),
    lost_at: nullable(
      timestamp(
        "UTC: since when the node counts as lost, after NODE_LOST_SECONDS without contact: its calls were ended",
      ),
    ),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "VoiceNode" },
);
export type VoiceNodeResponse = Static<typeof VoiceNodeResponse>;

/** Validates what the schema of a new node cannot. The body may have any shape. */
export function validateNewVoiceNode(body: unknown): FieldError[] {
  const fields = asFields(body);
  const violations = validateAriUrl(body);
  for (const field of ["ari", "cdr_path", "sounds_dir"]) {
    const isGiven = fields[field] !== undefined && fields[field] !== null;
    if (fields["driver"] === "sandbox" && isGiven)
      violations.push({ field, reason: "is not available for the sandbox driver" });
    if (fields["driver"] === "asterisk" && !isGiven && field === "ari")
      violations.push({ field, reason: "is required for the asterisk driver" });
  }
  return violations;
}

/** Validates the URL of a node's ARI, in the body of a creation or an update. */
export function validateAriUrl(body: unknown): FieldError[] {
  const { url: text } = asFields(asFields(body)["ari"]);
  if (typeof text !== "string" || isAriUrl(text)) return [];
  const reason = "must be an http or https URL without user, query or fragment";
  return [{ field: "ari.url", reason }];
}

function isAriUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password: secret, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + secret + search + hash === "";
}

/** Returns the URL as drivers expect it: without a trailing slash. */
export function ariUrl(text: string): string {
  return new URL(text).href.replace(/\/+$/, "");
}

function asFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
