// The caps on an account's calls.
import Type, { type Static } from "typebox";
import { closed, nullable } from "../../../lib/schemas.ts";

const cap = Type.Optional(
  nullable(Type.Integer({ minimum: 1, maximum: 2_000_000_000, description: "null: no cap" })),
);
const SubjectCaps = closed(
  {
    legs_hour: cap,
    legs_day: cap,
    credits_hour: cap,
    credits_day: cap,
  },
  { title: "SubjectCaps" },
);

/** Caps on calls' legs and credits per clock hour and day; one that is missing is null. */
export const CallCaps = closed(
  {
    account: Type.Optional(SubjectCaps),
    token: Type.Optional(SubjectCaps),
    number: Type.Optional(SubjectCaps),
  },
  {
    title: "CallCaps",
    description:
      "Caps on legs to phones and on call credits, of the account, of each token and of each phone number: in a clock hour, and in it and the 23 before. Read only: an operator changes them",
  },
);
export type CallCaps = Static<typeof CallCaps>;
