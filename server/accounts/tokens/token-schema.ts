// The token in API requests and responses. Its text is returned once, at creation.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { shownName } from "../accounts/account-schema.ts";
import { permissionList } from "../roles/role-schema.ts";

const kind = Type.Unsafe<"account" | "agent">({
  type: "string",
  enum: ["account", "agent"],
  description: "account: authenticates as the account's owner; agent: as user_id",
});

/** The most networks of a token. */
export const addresses_max = 50;

export const TokenRequest = closed(
  {
    kind,
    name: shownName("Purpose of the token"),
    user_id: optional(id("The active user that an agent token authenticates as")),
    scopes: optional(permissionList("Narrows its permissions; null: all permissions of its user")),
    allowed_addresses: optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        minItems: 1,
        maxItems: addresses_max,
        description:
          "IP addresses and networks (CIDR) that the token may be used from; null: any. Others get a 403",
      }),
    ),
    expires_at: optional(
      Type.String({
        maxLength: 64,
        description: "A future time; without an offset it is local to the account's zone",
      }),
    ),
  },
  {
    title: "NewToken",
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
        description: "How long the old token remains valid; default 0",
      }),
    ),
  },
  { title: "TokenRotation", description: "A rotation", examples: [{ overlap_seconds: 3_600 }] },
);
export type TokenRotation = Static<typeof TokenRotation>;

const fields = {
  id: id("Token id"),
  kind,
  user_id: id("The user it authenticates as"),
  name: Type.String(),
  scopes: nullable(Type.Array(Type.String())),
  expires_at: nullable(timestamp("UTC")),
  allowed_addresses: nullable(Type.Array(Type.String())),
  revoked_at: nullable(timestamp("UTC")),
  last_used_at: nullable(timestamp("UTC; may lag behind by a minute")),
  created_by: id("User id"),
  created_at: timestamp("UTC"),
};

export const TokenResponse = Type.Object(fields, { title: "Token" });
export type TokenResponse = Static<typeof TokenResponse>;

/** A token that was just created. */
export const IssuedToken = Type.Object(
  {
    ...fields,
    token: nullable(
      Type.String({
        description: "The token, shown only here; null in a replayed response",
      }),
    ),
  },
  { title: "IssuedToken" },
);
export type IssuedToken = Static<typeof IssuedToken>;
