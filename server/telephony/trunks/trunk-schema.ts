// Trunks in API requests and responses.
import Type, { type Static } from "typebox";
import { destinations, shownName } from "../../accounts/accounts/account-schema.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { pjsipEndpoint } from "../extensions/extension-schema.ts";
import { load } from "../nodes/voice-node-schema.ts";

const formats = ["e164", "plus_e164", "national"] as const;
type NumberFormat = (typeof formats)[number];
const agent_number_rules = ["verified", "any"] as const;
/** Which phones a trunk rings as agents. */
export type AgentNumberRule = (typeof agent_number_rules)[number];

const fields = {
  name: shownName("Unique in the installation"),
  endpoint: pjsipEndpoint(
    "The carrier's endpoint in the nodes' PJSIP configuration; must not begin with a, digits and -, the prefix of accounts' phones",
  ),
  number_format: Type.Enum(formats, {
    type: "string",
    description:
      "The number format that the carrier expects: e164 (919876543210, the default), plus_e164 (+919876543210) or national (9876543210)",
  }),
  number_prefix: Type.String({
    pattern: "^[0-9*#]{0,8}$",
    description: "Dialed before each number",
    "x-reason": "must be at most 8 digits, * and #",
  }),
  caller_ids: Type.Array(
    Type.String({ pattern: "^[0-9]{3,15}$", "x-reason": "must be 3 to 15 digits" }),
    {
      maxItems: 1_000,
      uniqueItems: true,
      description:
        "The caller IDs that the carrier accepts. A call that names none shows the first of its account's, else, over an unrestricted trunk, the first that belongs to no account",
    },
  ),
  caller_ids_only: Type.Boolean({
    description:
      "Whether a call may show only those of caller_ids that are its account's phone numbers (true by default); an account without one shows the caller ID that the carrier sets. False: any number that is not another account's",
  }),
  agent_numbers: Type.Enum(agent_number_rules, {
    type: "string",
    description:
      "Which phones it rings as agents: verified, the default, only the account's agent numbers and the members of its agent groups; any: every phone. Extensions always",
  }),
  destinations: destinations(
    "The countries that it calls (ISO 3166-1 alpha-2), or * for every country, the default",
  ),
  active: Type.Boolean({
    description:
      "An inactive trunk takes no new calls; its queued calls are still placed, and its campaigns move to its fall-back trunk or pause",
  }),
  nodes: Type.Array(closed({ node_id: id("Node id"), ...load }, { title: "NewTrunkNode" }), {
    maxItems: 100,
    description: "The nodes that have this trunk, with its limits on each",
  }),
};
const fallback_trunk_id = id(
  "The trunk that campaigns move to when this trunk is inactive or reserved for another account, or all its nodes are inactive or lost; null: they pause, or wait for the nodes",
);
const only_account_id = id("The only account that may use the trunk; null: every account");

/** The body that creates a trunk; validateTrunk checks what this schema cannot. */
export const NewTrunk = closed(
  {
    name: fields.name,
    endpoint: fields.endpoint,
    only_account_id: optional(only_account_id),
    number_format: optional(fields.number_format),
    number_prefix: optional(fields.number_prefix),
    caller_ids: optional(fields.caller_ids),
    caller_ids_only: optional(fields.caller_ids_only),
    agent_numbers: optional(fields.agent_numbers),
    destinations: optional(fields.destinations),
    fallback_trunk_id: optional(fallback_trunk_id),
    active: optional(fields.active),
    nodes: fields.nodes,
  },
  {
    title: "NewTrunk",
    description: "A trunk to create",
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

/** The body that updates a trunk; `nodes` replaces the whole list. */
export const TrunkPatch = closed(
  {
    name: Type.Optional(fields.name),
    endpoint: Type.Optional(fields.endpoint),
    only_account_id: optional(only_account_id),
    number_format: Type.Optional(fields.number_format),
    number_prefix: Type.Optional(fields.number_prefix),
    caller_ids: Type.Optional(fields.caller_ids),
    caller_ids_only: Type.Optional(fields.caller_ids_only),
    agent_numbers: Type.Optional(fields.agent_numbers),
    destinations: Type.Optional(fields.destinations),
    fallback_trunk_id: optional(fallback_trunk_id),
    active: Type.Optional(fields.active),
    nodes: Type.Optional(fields.nodes),
  },
  {
    title: "TrunkPatch",
    minProperties: 1,
    description: "The fields to change",
    examples: [{ active: false }],
  },
);
export type TrunkPatch = Static<typeof TrunkPatch>;

export const TrunkResponse = Type.Object(
  {
    id: id("Trunk id"),
    name: Type.String(),
    endpoint: Type.String(),
    only_account_id: nullable(id("Account id")),
    number_format: Type.Unsafe<NumberFormat>(fields.number_format),
    number_prefix: Type.String(),
    caller_ids: Type.Array(Type.String()),
    caller_ids_only: Type.Boolean(),
    agent_numbers: Type.Unsafe<AgentNumberRule>(fields.agent_numbers),
    destinations: Type.Array(Type.String()),
    fallback_trunk_id: nullable(id("Trunk id")),
    active: Type.Boolean(),
    nodes: Type.Array(Type.Object({ node_id: id("Node id"), ...load }, { title: "TrunkNode" })),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "Trunk" },
);
export type TrunkResponse = Static<typeof TrunkResponse>;

/** Reports nodes that are listed twice, which the schema cannot. The body may have any shape. */
export function validateTrunkNodes(body: unknown): FieldError[] {
  const { nodes } = (body ?? {}) as { nodes?: unknown };
  if (!Array.isArray(nodes)) return [];
  const seen = new Set<unknown>();
  return nodes.flatMap((node: unknown, i) => {
    const nodeId = (node as { node_id?: unknown } | null)?.node_id;
    const isRepeated = nodeId !== undefined && seen.size === seen.add(nodeId).size;
    return isRepeated ? [{ field: `nodes.${i}.node_id`, reason: "is listed twice" }] : [];
  });
}
