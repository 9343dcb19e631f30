// A node as its operator describes it: the sandbox, or an Asterisk and how to reach its ARI.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { voice_driver_names } from "../../drivers/voice/driver.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";

const name = shownName("Unique in the installation");
const driver = Type.Enum(voice_driver_names, {
  type: "string",
  description: "asterisk: a telephone switch; sandbox: nobody's phone rings",
});

const url = Type.String({
  maxLength: 2_048,
  description: "Where the switch's ARI is; an address of the operator's own",
  examples: ["http://127.0.0.1:8088/ari"],
});
const user = Type.String({
  pattern: "^[^\\s:]{1,128}$",
  description: "As in the switch's ari.conf",
  "x-reason": "must be 1 to 128 characters without spaces and colons",
});
const password = Type.String({ minLength: 1, maxLength: 255, description: "Never shown again" });
const application = Type.String({
  pattern: "^[A-Za-z0-9_-]{1,64}$",
  description: "Any name that no other program uses on this switch",
  "x-reason": "must be 1 to 64 letters, digits, - and _",
});

const cdr_path = Type.String({
  maxLength: 4_096,
  pattern: "^/",
  description:
    "The switch's file of call records, where the service can read it; null: what became of a call that ended while nobody listened stays unknown",
  "x-reason": "must be an absolute path of at most 4096 characters",
});
const sounds_dir = Type.String({
  maxLength: 4_000,
  pattern: "^/[^,]*$",
  description:
    "A folder that the service writes and the switch reads, both under this path; null: nothing can be played, so that no campaign calls over the node",
  "x-reason": "must be an absolute path of at most 4000 characters, without a comma",
});
const rate = Type.Integer({ minimum: 1, maximum: 1_000, description: "New legs a second" });
const room = Type.Integer({
  minimum: 1,
  maximum: 100_000,
  description: "Calls at once, whatever their legs",
});
/** What a node, or a trunk on a node, may be loaded with. */
export const load = { calls_per_second: rate, calls_max: room };
const active = Type.Boolean({
  description:
    "An inactive one takes no new calls; calls that wait go to another node of their trunk, or wait on where there is none",
});

/** The body of a node's creation; validateNewVoiceNode says what this schema cannot. */
export const NewVoiceNode = closed(
  {
    name,
    driver,
    ari: optional(closed({ url, user, password, app: application })),
    cdr_path: optional(cdr_path),
    sounds_dir: optional(sounds_dir),
    ...load,
    active: optional(active),
  },
  {
    description: "A node to place calls on",
    examples: [{ name: "sandbox 2", driver: "sandbox", calls_per_second: 50, calls_max: 500 }],
  },
);
export type NewVoiceNode = Static<typeof NewVoiceNode>;

/** The body of a node's patch. Another driver is another node. */
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
        { minProperties: 1 },
      ),
    ),
    cdr_path: optional(cdr_path),
    sounds_dir: optional(sounds_dir),
    calls_per_second: Type.Optional(rate),
    calls_max: Type.Optional(room),
    active: Type.Optional(active),
  },
  { minProperties: 1, description: "What to change", examples: [{ active: false }] },
);
export type VoiceNodePatch = Static<typeof VoiceNodePatch>;

export const VoiceNodeAnswer = Type.Object({
  id: id("Node id"),
  name: Type.String(),
  driver,
  ari: nullable(
    Type.Object({
      url: Type.String(),
      user: Type.String(),
      password_set: Type.Literal(true),
      app: Type.String(),
    }),
  ),
  cdr_path: nullable(Type.String()),
  sounds_dir: nullable(Type.String()),
  ...load,
  active,
  connected: Type.Boolean({ description: "Whether the service hears the node just now" }),
  created_at: timestamp("UTC"),
  updated_at: timestamp("UTC"),
});
export type VoiceNodeAnswer = Static<typeof VoiceNodeAnswer>;

/** What a schema alone cannot say of a new node's body, which may have any shape. */
export function validateNewVoiceNode(body: unknown): FieldError[] {
  const fields = asFields(body);
  const violations = validateAriUrl(body);
  for (const field of ["ari", "cdr_path", "sounds_dir"]) {
    const isGiven = fields[field] !== undefined && fields[field] !== null;
    if (fields["driver"] === "sandbox" && isGiven)
      violations.push({ field, reason: "is not for the sandbox" });
    if (fields["driver"] === "asterisk" && !isGiven && field === "ari")
      violations.push({ field, reason: "is required for the asterisk driver" });
  }
  return violations;
}

/** Whether the address of a node's ARI is one; also of a patch. */
export function validateAriUrl(body: unknown): FieldError[] {
  const { url: text } = asFields(asFields(body)["ari"]);
  if (typeof text !== "string" || isAriUrl(text)) return [];
  const reason = "must be an http or https address without user, query and fragment";
  return [{ field: "ari.url", reason }];
}

function isAriUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password: secret, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + secret + search + hash === "";
}

/** As drivers take it: without a trailing slash. */
export function ariUrl(text: string): string {
  return new URL(text).href.replace(/\/+$/, "");
}

function asFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
