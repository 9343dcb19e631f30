// Phone numbers of accounts in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, timestamp } from "../../lib/schemas.ts";

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
    description: "A phone number to assign to an account",
    examples: [{ number: "+919000000000", account_id: 1 }],
  },
);
export type NewNumberAssignment = Static<typeof NewNumberAssignment>;

const number = Type.String({ description: "Country code and number, without the plus" });

export const NumberAssignment = Type.Object({
  number,
  account_id: id("The account that owns the number"),
  assigned_at: timestamp("UTC"),
});
export type NumberAssignment = Static<typeof NumberAssignment>;

export const PhoneNumberResponse = Type.Object({ number, assigned_at: timestamp("UTC") });
export type PhoneNumberResponse = Static<typeof PhoneNumberResponse>;
