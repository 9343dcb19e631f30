import Type from "typebox";
import { createRole } from "../../../accounts/roles/create-role.ts";
import { deleteRole } from "../../../accounts/roles/delete-role.ts";
import { grantorOf } from "../../../accounts/roles/grantor.ts";
import { permissions } from "../../../accounts/permissions.ts";
import { NewRole, RoleResponse, RolePatch } from "../../../accounts/roles/role-schema.ts";
import { findRole, listRoles } from "../../../accounts/roles/roles.ts";
import { accountTokensSubject } from "../../../accounts/tokens/token-directory.ts";
import { updateRole } from "../../../accounts/roles/update-role.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";

const roleParams = closed({ id: pathId("The role") });
const catalogue = Object.entries(permissions).map(([name, description]) => ({ name, description }));

export const roleRoutes = [
  route({
    method: "GET",
    url: "/api/v1/permissions",
    id: "listPermissions",
    summary: "List every permission that roles and token scopes may grant",
    tag: "Roles",
    access: { anyOf: ["users.read", "users.manage", "tokens.manage"] },
    success: {
      200: Type.Object(
        {
          data: Type.Array(
            Type.Object(
              { name: Type.String(), description: Type.String() },
              { title: "PermissionDescription" },
            ),
          ),
        },
        { title: "PermissionList" },
      ),
    },
    handle: async () => ({ data: catalogue }),
  }),
  route({
    method: "GET",
    url: "/api/v1/roles",
    id: "listRoles",
    summary: "List roles",
    tag: "Roles",
    access: { anyOf: ["users.read", "users.manage"] },
    query: closed(pageQuery),
    success: { 200: pageOf(RoleResponse) },
    handle: ({ app, caller, query }) => listRoles(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: "/api/v1/roles",
    id: "createRole",
    summary: "Create a role",
    tag: "Roles",
    access: { anyOf: ["users.manage"] },
    body: NewRole,
    success: { 201: RoleResponse },
    handle: (context) =>
      context.write((tx) =>
        createRole(tx, grantorOf(context), context.body, context.app.clock.now()),
      ),
  }),
  route({
    method: "GET",
    url: "/api/v1/roles/:id",
    id: "readRole",
    summary: "Read a role",
    tag: "Roles",
    access: { anyOf: ["users.read", "users.manage"] },
    params: roleParams,
    success: { 200: RoleResponse },
    handle: ({ app, caller, params }) => findRole(app.db.query, caller.account.id, params.id),
  }),
  route({
    method: "PATCH",
    url: "/api/v1/roles/:id",
    id: "updateRole",
    summary: "Update a role; applies to all its users",
    tag: "Roles",
    access: { anyOf: ["users.manage"] },
    params: roleParams,
    body: RolePatch,
    success: { 200: RoleResponse },
    handle: async (context) => {
      const { app, caller, params, body } = context;
      const role = await context.write((tx) =>
        updateRole(tx, grantorOf(context), params.id, body, app.clock.now()),
      );
      app.notifications.send("token", accountTokensSubject(caller.account.id));
      return role;
    },
  }),
  route({
    method: "DELETE",
    url: "/api/v1/roles/:id",
    id: "deleteRole",
    summary: "Delete a role that no user has",
    tag: "Roles",
    access: { anyOf: ["users.manage"] },
    params: roleParams,
    success: { 204: Type.Null() },
    handle: async (context) => {
      const { app, params, write } = context;
      await write((tx) => deleteRole(tx, grantorOf(context), params.id, app.clock.now()));
    },
  }),
];
