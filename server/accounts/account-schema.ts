// The account as it goes in and comes out of the API.
import Type, { type Static } from "typebox";
import { closed, id } from "../lib/schemas.ts";
import { features, type Feature } from "./permissions.ts";

/** A name of something people read: not empty, not blank. */
export const shownName = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: "\\S",
    description,
    "x-reason": "must have 1 to 255 characters and not be blank",
  });

const country_code = Type.String({
  pattern: "^[1-9][0-9]{0,2}$",
  description: "Turns ten-digit numbers into E.164, without a plus",
  "x-reason": "must be 1 to 3 digits and not begin with 0",
});
const time_zone = Type.String({
  maxLength: 64,
  description: "IANA name; times without an offset are local to it",
});
const feature = Type.Unsafe<Feature>({ type: "string", enum: features });

/** An account to create, with the owner that its account tokens act as. */
export const AccountRequest = closed({
  name: shownName("The account's name"),
  owner_name: shownName("The owner's name"),
  owner_email: Type.String({ format: "email", maxLength: 254 }),
  features: Type.Array(feature, { uniqueItems: true }),
  country_code: Type.Optional(country_code),
  time_zone: Type.Optional(time_zone),
});
export type AccountRequest = Static<typeof AccountRequest>;

/** What may be changed of an account. Its features are the operator's to change. */
export const AccountPatch = closed(
  {
    name: Type.Optional(shownName("The account's name")),
    country_code: Type.Optional(country_code),
    time_zone: Type.Optional(time_zone),
  },
  { minProperties: 1, description: "What to change", examples: [{ time_zone: "Asia/Kolkata" }] },
);
export type AccountPatch = Static<typeof AccountPatch>;

export const AccountAnswer = Type.Object({
  id: id("Account id"),
  name: Type.String(),
  features: Type.Array(feature, { description: "Read only: an operator changes them" }),
  country_code: Type.String(),
  time_zone: Type.String(),
});
export type AccountAnswer = Static<typeof AccountAnswer>;
