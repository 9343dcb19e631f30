// A group of agents as it goes in and comes out of the API.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { phone_reason, readPersonPhone } from "../../audience/intake/read-person-phone.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { isExtension } from "./agent-number.ts";

const name = shownName("Unique in the account");

export const NewAgentGroup = closed(
  { name },
  { description: "A group to create, without members", examples: [{ name: "Support" }] },
);
export type NewAgentGroup = Static<typeof NewAgentGroup>;

export const AgentGroupPatch = closed(
  { name: Type.Optional(name) },
  { minProperties: 1, description: "What to change", examples: [{ name: "Support, evenings" }] },
);
export type AgentGroupPatch = Static<typeof AgentGroupPatch>;

export const AgentGroupAnswer = Type.Object({
  id: id("Agent group id"),
  name: Type.String(),
  members_count: Type.Integer(),
  created_at: timestamp("UTC"),
  updated_at: timestamp("UTC: when its name or its members last changed"),
});
export type AgentGroupAnswer = Static<typeof AgentGroupAnswer>;

/** A call rings no more than twenty of them. */
export const agent_members_max = 200;

const position = (description: string) =>
  Type.Integer({ minimum: 1, maximum: agent_members_max, description });

export const NewAgentMember = closed(
  {
    number: Type.String({
      maxLength: 250,
      description:
        "An extension, or a phone: ten digits of the account's country, or + and its code",
    }),
    position: optional(position("Its place in the order; the last unless said")),
  },
  { description: "Who is to be rung", examples: [{ number: "201" }] },
);
export type NewAgentMember = Static<typeof NewAgentMember>;

export const AgentMemberPatch = closed(
  { position: position("The others make room; beyond the last is the last") },
  { description: "Where it is to stand", examples: [{ position: 1 }] },
);
export type AgentMemberPatch = Static<typeof AgentMemberPatch>;

export const AgentMemberAnswer = Type.Object({
  id: id("Member id"),
  number: Type.String({ description: "An extension, or a phone as E.164 digits" }),
  name: nullable(Type.String({ description: "The extension's; null: a phone, or one unknown" })),
  position: Type.Integer({ description: "1 is rung first" }),
  busy: Type.Boolean({ description: "Whether a call has it just now" }),
  last_call_ended_at: nullable(timestamp("UTC; null: it never had a call")),
  created_at: timestamp("UTC"),
});
export type AgentMemberAnswer = Static<typeof AgentMemberAnswer>;

/** What a schema cannot see of a new member's body, which may have any shape. */
export function validateNewAgentMember(body: unknown, countryCode: string): FieldError[] {
  const { number } = (body ?? {}) as { number?: unknown };
  if (typeof number !== "string" || readAgentNumber(number, countryCode) !== null) return [];
  return [{ field: "number", reason: `must be an extension of 2 to 6 digits, or ${phone}` }];
}

const phone = phone_reason.replace("must be ", "");

/** As it stands on a call's agent leg, or null when the text is neither an extension nor a phone. */
export function readAgentNumber(text: string, countryCode: string): string | null {
  return isExtension(text) ? text : readPersonPhone(text, countryCode);
}
