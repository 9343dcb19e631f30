// Agent groups and their members in API requests and responses.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { phone_reason, readPersonPhone } from "../../audience/intake/read-person-phone.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { isExtension } from "./agent-number.ts";
import { away_since } from "../away-agents.ts";

const name = shownName("Unique in the account");

export const NewAgentGroup = closed(
  { name },
  {
    title: "NewAgentGroup",
    description: "An agent group to create, without members",
    examples: [{ name: "Support" }],
  },
);
export type NewAgentGroup = Static<typeof NewAgentGroup>;

export const AgentGroupPatch = closed(
  { name: Type.Optional(name) },
  {
    title: "AgentGroupPatch",
    minProperties: 1,
    description: "The fields of the agent group to change",
    examples: [{ name: "Support, evenings" }],
  },
);
export type AgentGroupPatch = Static<typeof AgentGroupPatch>;

export const AgentGroupResponse = Type.Object(
  {
    id: id("Agent group id"),
    name: Type.String(),
    members_count: Type.Integer(),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC: the last change of its name or members"),
  },
  { title: "AgentGroup" },
);
export type AgentGroupResponse = Static<typeof AgentGroupResponse>;

/** The most members of a group; one call rings at most twenty of them. */
export const agent_members_max = 200;

const position = (description: string) =>
  Type.Integer({ minimum: 1, maximum: agent_members_max, description });

export const NewAgentMember = closed(
  {
    number: Type.String({
      maxLength: 250,
      description:
        "An extension, or a phone number: ten digits in the account's country, or + and the country code",
    }),
    position: optional(position("The position in ring order; default: the last")),
  },
  { title: "NewAgentGroupMember", description: "A member to add", examples: [{ number: "201" }] },
);
export type NewAgentMember = Static<typeof NewAgentMember>;

export const AgentMemberPatch = closed(
  { position: position("The others move; a position beyond the last means the last") },
  { title: "AgentGroupMemberPatch", description: "The new position", examples: [{ position: 1 }] },
);
export type AgentMemberPatch = Static<typeof AgentMemberPatch>;

export const AgentMemberResponse = Type.Object(
  {
    id: id("Member id"),
    number: Type.String({ description: "An extension, or a phone number as E.164 digits" }),
    name: nullable(
      Type.String({
        description: "The extension's name; null: a phone number, or an unknown extension",
      }),
    ),
    position: Type.Integer({ description: "1 is rung first" }),
    busy: Type.Boolean({ description: "Whether it is on a call now" }),
    away_since,
    last_call_ended_at: nullable(timestamp("UTC; null: it has had no call")),
    created_at: timestamp("UTC"),
  },
  { title: "AgentGroupMember" },
);
export type AgentMemberResponse = Static<typeof AgentMemberResponse>;

/** Validates what the schema of a new member cannot: its number. The body may have any shape. */
export function validateNewAgentMember(body: unknown, countryCode: string): FieldError[] {
  const { number } = (body ?? {}) as { number?: unknown };
  if (typeof number !== "string" || readAgentNumber(number, countryCode) !== null) return [];
  return [{ field: "number", reason: `must be an extension of 2 to 6 digits, or ${phone}` }];
}

const phone = phone_reason.replace("must be ", "");

/** Returns the number as agent legs store it; null if it is neither an extension nor a phone number. */
export function readAgentNumber(text: string, countryCode: string): string | null {
  return isExtension(text) ? text : readPersonPhone(text, countryCode);
}
