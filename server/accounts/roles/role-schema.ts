// The role in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, timestamp } from "../../lib/schemas.ts";
import { shownName } from "../accounts/account-schema.ts";
import { permissionNames, type Permission } from "../permissions.ts";

/** A list of permissions from the catalogue. */
export const permissionList = (description: string) =>
  Type.Array(Type.Unsafe<Permission>({ type: "string", enum: permissionNames }), {
    uniqueItems: true,
    description,
  });

const name = shownName("Unique in the account");
const permissions = permissionList("Permissions of its users");

export const NewRole = closed(
  { name, permissions },
  {
    title: "NewRole",
    description: "A role to create",
    examples: [{ name: "Sales", permissions: ["crm.leads.create", "crm.read"] }],
  },
);
export type NewRole = Static<typeof NewRole>;

export const RolePatch = closed(
  { name: Type.Optional(name), permissions: Type.Optional(permissions) },
  {
    title: "RolePatch",
    minProperties: 1,
    description: "What to change",
    examples: [{ permissions: ["crm.read"] }],
  },
);
export type RolePatch = Static<typeof RolePatch>;

export const RoleResponse = Type.Object(
  {
    id: id("Role id"),
    name: Type.String(),
    permissions: Type.Array(Type.String()),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "Role" },
);
export type RoleResponse = Static<typeof RoleResponse>;
