// The authenticator app of a user, the second factor of the sign-in.
import Type from "typebox";
import { grantorOf } from "../../../accounts/roles/grantor.ts";
import {
  confirmTotp,
  createTotp,
  readTotp,
  removeTotp,
  removeTotpOf,
} from "../../../accounts/sessions/totp-enrollment.ts";
import {
  FactorCode,
  NewTotp,
  RecoveryCodes,
  Totp,
  CurrentPassword,
} from "../../../accounts/sessions/session-schema.ts";
import { findUser } from "../../../accounts/users/users.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";

const tag = "Sessions";
const url = "/api/v1/me/totp";
const access = { anyOf: "session" } as const;

export const totpRoutes = [
  route({
    method: "GET",
    url,
    id: "readTotp",
    summary: "Read whether signing in needs a code of an authenticator app",
    tag,
    access,
    success: { 200: Totp },
    handle: ({ app, actor }) => readTotp(app.db.query, actor),
  }),
  route({
    method: "POST",
    url,
    id: "createTotp",
    takes_no_key: true,
    summary: "Begin to set up an authenticator app; it counts once a code has confirmed it",
    tag,
    access,
    body: CurrentPassword,
    success: { 201: NewTotp },
    handle: async ({ app, caller, actor, body: { current_password = null } }) => {
      const { email } = await findUser(app.db.query, caller.account.id, actor.user_id);
      return createTotp(app, actor, { email, current_password });
    },
  }),
  route({
    method: "PUT",
    url,
    id: "updateTotp",
    takes_no_key: true,
    summary: "Confirm the authenticator app with a code; the recovery codes are shown once",
    tag,
    access,
    body: FactorCode,
    success: { 200: RecoveryCodes },
    handle: async ({ app, actor, body }) => ({
      recovery_codes: [...(await confirmTotp(app, actor, body.code))],
    }),
  }),
  route({
    method: "POST",
    url: `${url}/removal`,
    id: "removeTotp",
    takes_no_key: true,
    summary: "Remove the own authenticator app, with one of its codes",
    tag,
    access,
    body: FactorCode,
    success: { 200: closed({}) },
    handle: async ({ app, actor, body }) => {
      await removeTotp(app, actor, body.code);
      return {};
    },
  }),
  route({
    method: "DELETE",
    url: "/api/v1/users/:id/totp",
    id: "deleteUserTotp",
    summary: "Remove the authenticator app of a user who lost it",
    tag: "Users",
    access: { anyOf: ["users.manage"] },
    params: closed({ id: pathId("The user") }),
    success: { 204: Type.Null() },
    handle: (context) =>
      context.write((tx) =>
        removeTotpOf(tx, grantorOf(context), context.params.id, context.app.clock.now()),
      ),
  }),
];
