// A trunk to a carrier as its operator describes it.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { pjsipEndpoint } from "../extensions/extension-schema.ts";
import { load } from "../nodes/voice-node-schema.ts";

const formats = ["e164", "plus_e164", "national"] as const;
type NumberFormat = (typeof formats)[number];

const fields = {
  name: shownName("Unique in the installation"),
  endpoint: pjsipEndpoint(
    "The carrier's endpoint in the nodes' PJSIP configuration; does not begin with a, digits and -, as accounts' phones do",
  ),
  number_format: Type.Enum(formats, {
    type: "string",
    description:
      "How the carrier wants numbers: 919876543210 (e164, unless said), +919876543210 or 9876543210",
  }),
  number_prefix: Type.String({
    pattern: "^[0-9*#]{0,8}$",
    description: "Dialled before each number",
    "x-reason": "must be at most 8 digits, * and #",
  }),
  caller_ids: Type.Array(
    Type.String({ pattern: "^[0-9]{3,15}$", "x-reason": "must be 3 to 15 digits" }),
    {
      maxItems: 1_000,
      uniqueItems: true,
      description: "As cli_number names them; the first is shown where a call names none",
    },
  ),
  caller_ids_only: Type.Boolean({ description: "Whether the carrier refuses other caller ids" }),
  active: Type.Boolean({
    description:
      "An inactive one takes no new calls; those that wait on it are placed all the same",
  }),
  nodes: Type.Array(closed({ node_id: id("Node id"), ...load }), {
    maxItems: 100,
    description: "Where it is set up, and how much of each node it may take",
  }),
};
const only_account_id = id("The one account that may use it; null: every account");

/** The body of a trunk's creation; validateTrunk says what this schema cannot. */
export const NewTrunk = closed(
  {
    name: fields.name,
    endpoint: fields.endpoint,
    only_account_id: optional(only_account_id),
    number_format: optional(fields.number_format),
    number_prefix: optional(fields.number_prefix),
    caller_ids: optional(fields.caller_ids),
    caller_ids_only: optional(fields.caller_ids_only),
    active: optional(fields.active),
    nodes: fields.nodes,
  },
  {
    description: "A trunk to place calls over",
    examples: [
      {
        name: "carrier",
        endpoint: "carrier",
        number_format: "plus_e164",
        caller_ids: ["9000000000"],
        nodes: [],
      },
    ],
  },
);
export type NewTrunk = Static<typeof NewTrunk>;

/** The body of a trunk's patch; `nodes` replaces all of them. */
export const TrunkPatch = closed(
  {
    name: Type.Optional(fields.name),
    endpoint: Type.Optional(fields.endpoint),
    only_account_id: optional(only_account_id),
    number_format: Type.Optional(fields.number_format),
    number_prefix: Type.Optional(fields.number_prefix),
    caller_ids: Type.Optional(fields.caller_ids),
    caller_ids_only: Type.Optional(fields.caller_ids_only),
    active: Type.Optional(fields.active),
    nodes: Type.Optional(fields.nodes),
  },
  { minProperties: 1, description: "What to change", examples: [{ active: false }] },
);
export type TrunkPatch = Static<typeof TrunkPatch>;

export const TrunkAnswer = Type.Object({
  id: id("Trunk id"),
  name: Type.String(),
  endpoint: Type.String(),
  only_account_id: nullable(id("Account id")),
  number_format: Type.Unsafe<NumberFormat>(fields.number_format),
  number_prefix: Type.String(),
  caller_ids: Type.Array(Type.String()),
  caller_ids_only: Type.Boolean(),
  active: Type.Boolean(),
  nodes: Type.Array(Type.Object({ node_id: id("Node id"), ...load })),
  created_at: timestamp("UTC"),
  updated_at: timestamp("UTC"),
});
export type TrunkAnswer = Static<typeof TrunkAnswer>;

/** A share of one node twice, which a schema does not see. The body may have any shape. */
export function validateTrunkNodes(body: unknown): FieldError[] {
  const { nodes } = (body ?? {}) as { nodes?: unknown };
  if (!Array.isArray(nodes)) return [];
  const ids = nodes.map((node: unknown) => (node as { node_id?: unknown } | null)?.node_id);
  return ids.flatMap((one, i) =>
    one !== undefined && ids.indexOf(one) < i
      ? [{ field: `nodes.${i}.node_id`, reason: "is there twice" }]
      : [],
  );
}
