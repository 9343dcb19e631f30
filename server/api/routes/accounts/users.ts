import { createUser } from "../../../accounts/users/create-user.ts";
import { grantorOf } from "../../../accounts/roles/grantor.ts";
import { endSessionsOf } from "../../../accounts/sessions/end-sessions.ts";
import { requirePasswordForEmail } from "../../../accounts/sessions/set-password.ts";
import { accountTokensSubject } from "../../../accounts/tokens/token-directory.ts";
import { updateUser } from "../../../accounts/users/update-user.ts";
import { NewUser, UserResponse, UserPatch } from "../../../accounts/users/user-schema.ts";
import { findUser, listUsers } from "../../../accounts/users/users.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";

const userParams = closed({ id: pathId("The user") });

export const userRoutes = [
  route({
    method: "GET",
    url: "/api/v1/users",
    id: "listUsers",
    summary: "List users",
    tag: "Users",
    access: { anyOf: ["users.read", "users.manage"] },
    query: closed(pageQuery),
    success: { 200: pageOf(UserResponse) },
    handle: ({ app, caller, query }) => listUsers(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: "/api/v1/users",
    id: "createUser",
    summary: "Create a user",
    tag: "Users",
    access: { anyOf: ["users.manage"] },
    body: NewUser,
    success: { 201: UserResponse },
    handle: (context) =>
      context.write((tx) =>
        createUser(tx, grantorOf(context), context.body, context.app.clock.now()),
      ),
  }),
  route({
    method: "GET",
    url: "/api/v1/users/:id",
    id: "readUser",
    summary: "Read a user",
    tag: "Users",
    access: { anyOf: ["users.read", "users.manage"] },
    params: userParams,
    success: { 200: UserResponse },
    handle: ({ app, caller, params }) => findUser(app.db.query, caller.account.id, params.id),
  }),
  route({
    method: "PATCH",
    url: "/api/v1/users/:id",
    id: "updateUser",
    summary: "Update, deactivate or reactivate a user",
    tag: "Users",
    access: { anyOf: ["users.manage"] },
    params: userParams,
    body: UserPatch,
    success: { 200: UserResponse },
    handle: async (context) => {
      const { app, caller, params, body } = context;
      const { current_password = null, ...patch } = body;
      const change = { user_id: params.id, email: patch.email, current_password };
      // Before the transaction: hashing takes longer than a row should be locked.
      await requirePasswordForEmail(app, context.actor, change);
      const user = await context.write(async (tx) => {
        const now = app.clock.now();
        const updated = await updateUser(tx, grantorOf(context), params.id, patch, now);
        // They would go on if the user is activated again.
        if (!updated.active) await endSessionsOf(tx, context.actor, params.id, now);
        return updated;
      });
      app.notifications.send("token", accountTokensSubject(caller.account.id));
      return user;
    },
  }),
];
