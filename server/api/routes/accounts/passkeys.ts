// Passkeys: those of a user, and signing in with one.
import Type from "typebox";
import {
  addPasskey,
  beginPasskey,
  beginPasskeySignIn,
  listPasskeys,
  removePasskey,
  signInWithPasskey,
} from "../../../accounts/sessions/passkeys.ts";
import { grantorOf } from "../../../accounts/roles/grantor.ts";
import { removePasskeysOf } from "../../../accounts/sessions/remove-passkeys.ts";
import {
  NewPasskey,
  Passkey,
  PasskeyAnswer,
  PasskeyOptions,
} from "../../../accounts/sessions/passkey-schema.ts";
import { CurrentPassword, SignInResponse } from "../../../accounts/sessions/session-schema.ts";
import { accountTokensSubject } from "../../../accounts/tokens/token-directory.ts";
import { findUser } from "../../../accounts/users/users.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { clientOf } from "../../checks/client-of.ts";
import {
  clearPasskeyCookie,
  readPasskeyCookie,
  refuseCrossSite,
  refusePlainHttp,
  setPasskeyCookie,
} from "../../checks/session-cookie.ts";
import { publicRoute, route } from "../../route.ts";
import { answerSignIn } from "./answer-sign-in.ts";

const tag = "Sessions";
const url = "/api/v1/me/passkeys";
const access = { anyOf: "session" } as const;

export const passkeyRoutes = [
  route({
    method: "GET",
    url,
    id: "listPasskeys",
    summary: "List the own passkeys, newest first",
    tag,
    access,
    success: { 200: Type.Object({ data: Type.Array(Passkey) }, { title: "PasskeyList" }) },
    handle: async ({ app, actor }) => ({ data: await listPasskeys(app, actor) }),
  }),
  route({
    method: "POST",
    url: `${url}/options`,
    id: "requestPasskey",
    takes_no_key: true,
    summary: "Begin to add a passkey; sets a cookie for five minutes",
    tag,
    access,
    body: CurrentPassword,
    success: { 200: PasskeyOptions },
    handle: async ({ app, caller, actor, body: { current_password = null }, reply }) => {
      const { email } = await findUser(app.db.query, caller.account.id, actor.user_id);
      const { options, cookie } = await beginPasskey(app, actor, { email, current_password });
      setPasskeyCookie(reply, cookie);
      return { options };
    },
  }),
  route({
    method: "POST",
    url,
    id: "createPasskey",
    takes_no_key: true,
    summary: "Add the passkey that the browser has made",
    tag,
    access,
    body: NewPasskey,
    success: { 201: Passkey },
    handle: async ({ app, actor, body: { name, response }, request, reply }) => {
      const cookie = readPasskeyCookie(request);
      clearPasskeyCookie(reply);
      return addPasskey(app, actor, { name, response, cookie });
    },
  }),
  route({
    method: "DELETE",
    url: `${url}/:id`,
    id: "deletePasskey",
    takes_no_key: true,
    summary: "Remove an own passkey",
    tag,
    access,
    params: closed({ id: pathId("The passkey") }),
    success: { 204: Type.Null() },
    handle: ({ app, actor, params: { id } }) => removePasskey(app, actor, id),
  }),
  route({
    method: "DELETE",
    url: "/api/v1/users/:id/passkeys",
    id: "deleteUserPasskeys",
    summary: "Remove the passkeys of a user who lost a device; the user's sessions end",
    tag: "Users",
    access: { anyOf: ["users.manage"] },
    params: closed({ id: pathId("The user") }),
    success: { 204: Type.Null() },
    handle: async (context) => {
      const { app, caller, params } = context;
      await context.write((tx) =>
        removePasskeysOf(tx, grantorOf(context), params.id, app.clock.now()),
      );
      app.notifications.send("token", accountTokensSubject(caller.account.id));
    },
  }),
  publicRoute({
    method: "POST",
    url: "/api/v1/session/passkey/options",
    id: "requestPasskeySignIn",
    summary: "Begin to sign in with a passkey; sets a cookie for five minutes",
    tag,
    success: { 200: PasskeyOptions },
    handle: async ({ app, request, reply }) => {
      refuseCrossSite(request);
      refusePlainHttp(request);
      const { options, cookie } = await beginPasskeySignIn(app);
      setPasskeyCookie(reply, cookie);
      return { options };
    },
  }),
  publicRoute({
    method: "POST",
    url: "/api/v1/session/passkey",
    id: "createSessionByPasskey",
    summary: "Sign in with what a passkey has signed; sets the session's cookie",
    tag,
    body: PasskeyAnswer,
    success: { 200: SignInResponse },
    handle: async (context) => {
      const { app, request, reply } = context;
      const { response } = context.body;
      refuseCrossSite(request);
      const cookie = readPasskeyCookie(request);
      clearPasskeyCookie(reply);
      const result = await signInWithPasskey(app, { response, cookie }, clientOf(request));
      return answerSignIn(context, result);
    },
  }),
];
