// The user in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, phone10, timestamp } from "../../lib/schemas.ts";
import { shownName } from "../accounts/account-schema.ts";

const name = shownName("Display name");
const email = Type.String({
  format: "email",
  maxLength: 254,
  description: "Unique in the account; stored in lower case",
});
const phone = phone10("The user's phone number");
const extension = Type.String({
  pattern: "^[0-9]{2,6}$",
  description: "The user's extension",
  "x-reason": "must be 2 to 6 digits",
});
const role_id = id("A user without a role has no permissions");

export const NewUser = closed(
  {
    name,
    email,
    phone: optional(phone),
    extension: optional(extension),
    role_id: optional(role_id),
    active: optional(Type.Boolean({ description: "Default true" })),
  },
  {
    title: "NewUser",
    description: "A user to create",
    examples: [{ name: "Asha", email: "asha@example.com", extension: "201" }],
  },
);
export type NewUser = Static<typeof NewUser>;

/** Null clears phone, extension and role_id. */
export const UserPatch = closed(
  {
    name: Type.Optional(name),
    email: Type.Optional(email),
    phone: optional(phone),
    extension: optional(extension),
    role_id: optional(role_id),
    active: Type.Optional(Type.Boolean()),
    current_password: optional(
      Type.String({
        maxLength: 200,
        description: "Required to change your own email address if you have a password",
      }),
    ),
  },
  {
    title: "UserPatch",
    minProperties: 1,
    description: "The fields to change; null clears a field",
    examples: [{ role_id: 1 }],
  },
);
export type UserPatch = Static<typeof UserPatch>;

export const UserResponse = Type.Object(
  {
    id: id("User id"),
    name: Type.String(),
    email: Type.String(),
    phone: nullable(Type.String()),
    extension: nullable(Type.String()),
    role_id: nullable(id("Role id")),
    is_owner: Type.Boolean({ description: "The owner has every permission; there is exactly one" }),
    active: Type.Boolean({ description: "Tokens of an inactive user are rejected" }),
    has_totp: Type.Boolean({
      description: "Whether signing in needs a code of an authenticator app",
    }),
    passkeys: Type.Integer({
      description: "How many passkeys sign the user in, without a password and without a code",
    }),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "User" },
);
export type UserResponse = Static<typeof UserResponse>;
