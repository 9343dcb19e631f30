// Phone numbers of agents in API requests and responses.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { closed, nullable, optional, timestamp } from "../../lib/schemas.ts";

/** The body that adds a number; addAgentNumber checks what this schema cannot. */
export const NewAgentNumber = closed(
  {
    number: Type.String({
      minLength: 1,
      maxLength: 40,
      description:
        "The agent's phone number: ten digits in the account's country, or + and the country code",
    }),
    name: optional(shownName("Whose phone it is")),
  },
  {
    title: "NewAgentNumber",
    description: "A phone that may be rung as an agent",
    examples: [{ number: "+919000000001", name: "Asha's mobile" }],
  },
);
export type NewAgentNumber = Static<typeof NewAgentNumber>;

export const AgentNumberResponse = Type.Object(
  {
    number: Type.String({ description: "Country code and number, without the plus" }),
    name: nullable(Type.String()),
    created_at: timestamp("UTC"),
  },
  { title: "AgentNumber" },
);
export type AgentNumberResponse = Static<typeof AgentNumberResponse>;
