// Phone numbers of accounts in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, nullable, timestamp } from "../../lib/schemas.ts";

/** The number in a path: any other text is a 404. */
export const numberPath = closed({
  number: Type.String({
    pattern: "^[0-9]{7,15}$",
    description: "The phone number: country code and number, without the plus",
    examples: ["919000000000"],
  }),
});

/** The body that assigns a number; assignPhoneNumber checks what this schema cannot. */
export const NewNumberAssignment = closed(
  {
    number: Type.String({
      minLength: 1,
      maxLength: 40,
      description:
        "The phone number in any usual format; ten digits are a number of the account's country",
    }),
    account_id: id("The account that owns the number"),
  },
  {
    title: "NewPhoneNumberAssignment",
    description: "A phone number to assign to an account",
    examples: [{ number: "+919000000000", account_id: 1 }],
  },
);
export type NewNumberAssignment = Static<typeof NewNumberAssignment>;

const number = Type.String({ description: "Country code and number, without the plus" });

export const NumberAssignment = Type.Object(
  {
    number,
    account_id: id("The account that owns the number"),
    assigned_at: timestamp("UTC"),
  },
  { title: "PhoneNumberAssignment" },
);
export type NumberAssignment = Static<typeof NumberAssignment>;

const menu_id = id("The voice menu that answers");
const agent_group_id = id("The agent group that rings, the agent who has been idle longest first");

/** The body that routes a number's incoming calls; routePhoneNumber checks what this schema cannot. */
export const PhoneNumberPatch = closed(
  {
    menu_id: Type.Optional(nullable(menu_id)),
    agent_group_id: Type.Optional(nullable(agent_group_id)),
  },
  {
    title: "PhoneNumberRoute",
    minProperties: 1,
    description:
      "Where incoming calls go: to a menu or to an agent group, which replaces the other; null: they are refused as busy and reported as missed",
    examples: [{ agent_group_id: 1 }],
  },
);
export type PhoneNumberPatch = Static<typeof PhoneNumberPatch>;

export const PhoneNumberResponse = Type.Object(
  {
    number,
    menu_id: nullable(menu_id),
    agent_group_id: nullable(agent_group_id),
    assigned_at: timestamp("UTC"),
  },
  { title: "PhoneNumber" },
);
export type PhoneNumberResponse = Static<typeof PhoneNumberResponse>;
