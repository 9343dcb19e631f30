// What people do with their own sessions and profile, and when they forgot their password.
import Type from "typebox";
import { endSessionOf } from "../../../accounts/sessions/end-sessions.ts";
import { hasPasskeys } from "../../../accounts/sessions/passkeys.ts";
import { requestPasswordReset } from "../../../accounts/sessions/request-password-reset.ts";
import {
  MePatch,
  ResetRequest,
  SessionResponse,
  SignInOptions,
} from "../../../accounts/sessions/session-schema.ts";
import { listSessions } from "../../../accounts/sessions/sessions.ts";
import { tokenSubject } from "../../../accounts/tokens/token-directory.ts";
import { updateOwnName } from "../../../accounts/users/update-own-name.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { clientOf } from "../../checks/client-of.ts";
import { refuseCrossSite } from "../../checks/session-cookie.ts";
import { publicRoute, route } from "../../route.ts";

const tag = "Sessions";
const access = { anyOf: "session" } as const;

export const ownSessionRoutes = [
  publicRoute({
    method: "GET",
    url: "/api/v1/session/options",
    id: "readSignInOptions",
    summary: "Read what the sign-in page may offer",
    tag,
    success: { 200: SignInOptions },
    handle: async ({ app }) => ({
      passkeys: hasPasskeys(app),
      oidc: app.oidc && { label: app.oidc.label },
      password_reset_by_mail: app.mailer.enabled,
    }),
  }),
  publicRoute({
    method: "POST",
    url: "/api/v1/session/password-reset",
    id: "requestPasswordReset",
    summary:
      "Mail a link for a new password, if a user has this address; the answer is the same if none has",
    tag,
    body: ResetRequest,
    success: { 202: closed({}) },
    handle: async ({ app, body, request }) => {
      refuseCrossSite(request);
      await requestPasswordReset(app, body, clientOf(request));
      return {};
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/sessions",
    id: "listSessions",
    summary: "List the user's own sessions that have not ended, this one first",
    tag,
    access,
    success: {
      200: Type.Object({ data: Type.Array(SessionResponse) }, { title: "OwnSessionList" }),
    },
    handle: async ({ app, actor }) => ({
      data: await listSessions(
        app.db.query,
        { ...actor, token_id: actor.token_id! },
        app.clock.now(),
      ),
    }),
  }),
  route({
    method: "DELETE",
    url: "/api/v1/sessions/:id",
    id: "deleteSessionById",
    takes_no_key: true,
    frozen_too: true,
    summary: "End one of the user's own sessions",
    tag,
    access,
    params: closed({ id: pathId("The session") }),
    success: { 204: Type.Null() },
    handle: async ({ app, caller, actor, params }) => {
      await app.db.query
        .transaction()
        .execute((tx) => endSessionOf(tx, actor, params.id, app.clock.now()));
      app.notifications.send("token", tokenSubject(caller.account.id, params.id));
    },
  }),
  route({
    method: "PATCH",
    url: "/api/v1/me",
    id: "updateMe",
    is_own: true,
    summary: "Change the own display name",
    tag,
    access,
    body: MePatch,
    success: { 200: closed({}) },
    handle: async ({ app, actor, body, write }) => {
      await write((tx) => updateOwnName(tx, actor, body.name, app.clock.now()));
      return {};
    },
  }),
];
