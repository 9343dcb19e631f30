// A token as it goes in and comes out of the API. Its secret comes out once, at its making.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { shownName } from "../accounts/account-schema.ts";
import { permissionList } from "../roles/role-schema.ts";

const kind = Type.Unsafe<"account" | "agent">({
  type: "string",
  enum: ["account", "agent"],
  description: "account: acts as the account's owner; agent: acts as user_id",
});

export const TokenRequest = closed(
  {
    kind,
    name: shownName("What it is for"),
    user_id: optional(id("Whom an agent token acts as: an active user")),
    scopes: optional(permissionList("Narrows what it may do; null: everything its user may do")),
    expires_at: optional(
      Type.String({
        maxLength: 64,
        description: "A future time; without an offset it is local to the account's zone",
      }),
    ),
  },
  {
    description: "A token to create",
    examples: [{ kind: "account", name: "Web form", scopes: ["crm.leads.create"] }],
  },
);
export type TokenRequest = Static<typeof TokenRequest>;

const overlap_seconds_max = 604_800;

export const TokenRotation = closed(
  {
    overlap_seconds: optional(
      Type.Integer({
        minimum: 0,
        maximum: overlap_seconds_max,
        description: "How long the old token goes on working; default 0",
      }),
    ),
  },
  { description: "How to rotate", examples: [{ overlap_seconds: 3_600 }] },
);
export type TokenRotation = Static<typeof TokenRotation>;

const fields = {
  id: id("Token id"),
  kind,
  user_id: id("Whom it acts as"),
  name: Type.String(),
  scopes: nullable(Type.Array(Type.String())),
  expires_at: nullable(timestamp("UTC")),
  revoked_at: nullable(timestamp("UTC")),
  last_used_at: nullable(timestamp("UTC; may lag behind by a minute")),
  created_by: id("User id"),
  created_at: timestamp("UTC"),
};

export const TokenAnswer = Type.Object(fields);
export type TokenAnswer = Static<typeof TokenAnswer>;

/** A token just made. */
export const IssuedToken = Type.Object({
  ...fields,
  token: nullable(
    Type.String({
      description:
        "The token itself, shown only here; null when the answer is repeated under its Idempotency-Key",
    }),
  ),
});
export type IssuedToken = Static<typeof IssuedToken>;
