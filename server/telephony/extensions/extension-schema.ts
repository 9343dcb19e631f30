// Extensions in API requests and responses.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";

const extension = Type.String({
  pattern: "^[0-9]{2,6}$",
  description: "Unique in the account",
  "x-reason": "must be 2 to 6 digits",
});
const name = shownName("The name that people see");
const user_id = id("The user of the phone");
/** The name of an endpoint in the nodes' PJSIP configuration. */
export const pjsipEndpoint = (description: string) =>
  Type.String({
    pattern: "^[A-Za-z0-9_-]{1,64}$",
    description,
    "x-reason": "must be 1 to 64 letters, digits, - and _",
  });
const in_configuration =
  "The phone's endpoint in the nodes' PJSIP configuration; must begin with a, the account's ID and -, unless the account has the feature operator";
const digit = Type.String({
  pattern: "^[0-9]$",
  description:
    "The key that transfers a call here: * and this digit from the agent, or this digit from the customer; unique in the account",
  "x-reason": "must be one digit",
});

export const NewExtension = closed(
  {
    extension,
    name,
    user_id: optional(user_id),
    endpoint: optional(pjsipEndpoint(`${in_configuration}; default: the prefix and the extension`)),
    digit: optional(digit),
  },
  {
    title: "NewExtension",
    description: "An extension to create",
    examples: [{ extension: "201", name: "Asha's phone", digit: "4" }],
  },
);
export type NewExtension = Static<typeof NewExtension>;

/** Null clears user_id and digit. */
export const ExtensionPatch = closed(
  {
    extension: Type.Optional(extension),
    name: Type.Optional(name),
    user_id: optional(user_id),
    endpoint: Type.Optional(pjsipEndpoint(in_configuration)),
    digit: optional(digit),
  },
  {
    title: "ExtensionPatch",
    minProperties: 1,
    description: "The fields to change; null clears a field",
    examples: [{ digit: null }],
  },
);
export type ExtensionPatch = Static<typeof ExtensionPatch>;

export const ExtensionResponse = Type.Object(
  {
    id: id("Extension id"),
    extension: Type.String(),
    name: Type.String(),
    user_id: nullable(id("User id")),
    endpoint: Type.String(),
    digit: nullable(Type.String()),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "Extension" },
);
export type ExtensionResponse = Static<typeof ExtensionResponse>;
