import Type from "typebox";
import { grantorOf } from "../../../accounts/roles/grantor.ts";
import { endSession, endSessions } from "../../../accounts/sessions/end-sessions.ts";
import { changePassword, hasPassword } from "../../../accounts/sessions/set-password.ts";
import {
  LinkRequest,
  Me,
  PasswordRequest,
  SignInRequest,
  SignInLinkResponse,
  SignInResponse,
} from "../../../accounts/sessions/session-schema.ts";
import { signIn } from "../../../accounts/sessions/sign-in.ts";
import { createSignInLink, useSignInLink } from "../../../accounts/sessions/sign-in-links.ts";
import { accountTokensSubject } from "../../../accounts/tokens/token-directory.ts";
import { findUser } from "../../../accounts/users/users.ts";
import { chatDriversOf } from "../../../chat/numbers/chat-numbers.ts";
import { availableCredits } from "../../../credits/credits.ts";
import { findAgentNumbers } from "../../../telephony/agent-groups/find-agent-numbers.ts";
import { readAwaySince } from "../../../telephony/away-agents.ts";
import { voiceDriversOf } from "../../../telephony/trunks/voice-drivers.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { clientOf } from "../../checks/client-of.ts";
import {
  clearSessionCookie,
  refuseCrossSite,
  refusePlainHttp,
} from "../../checks/session-cookie.ts";
import { answerSignIn } from "./answer-sign-in.ts";
import { publicRoute, route } from "../../route.ts";
import { showSecretOnce } from "../shared/show-secret-once.ts";

const tag = "Sessions";
/** A token of an integration neither signs anybody out nor sets a password, which would outlive its revocation. */
const access = { anyOf: "session" } as const;

export const sessionRoutes = [
  publicRoute({
    method: "POST",
    url: "/api/v1/session",
    id: "createSession",
    summary: "Sign in with an email address and a password; sets the session's cookie",
    tag,
    body: SignInRequest,
    success: { 200: SignInResponse },
    handle: async (context) => {
      const { app, body, request } = context;
      refuseCrossSite(request);
      refusePlainHttp(request);
      return answerSignIn(context, await signIn(app, body, clientOf(request)));
    },
  }),
  publicRoute({
    method: "POST",
    url: "/api/v1/session/link",
    id: "createSessionByLink",
    summary: "Sign in with a link, once; sets the session's cookie, and a password if one is given",
    tag,
    body: LinkRequest,
    success: { 200: SignInResponse },
    handle: async (context) => {
      const { app, body, request } = context;
      refuseCrossSite(request);
      refusePlainHttp(request);
      const { link, password = null, code = null } = body;
      return answerSignIn(
        context,
        await useSignInLink(app, { link, password, code }, clientOf(request)),
      );
    },
  }),
  route({
    method: "DELETE",
    url: "/api/v1/session",
    id: "deleteSession",
    takes_no_key: true,
    frozen_too: true,
    summary: "End this session",
    tag,
    access,
    success: { 200: closed({}) },
    handle: async ({ app, caller, actor, reply }) => {
      await app.db.query.transaction().execute((tx) => endSession(tx, actor, app.clock.now()));
      app.notifications.send("token", accountTokensSubject(caller.account.id));
      clearSessionCookie(reply);
      return {};
    },
  }),
  route({
    method: "DELETE",
    url: "/api/v1/sessions",
    id: "deleteAllSessions",
    takes_no_key: true,
    frozen_too: true,
    summary: "End every session of the user; this one too, unless it is kept",
    tag,
    access,
    query: closed({
      keep_this: Type.Optional(Type.Boolean({ description: "End the other sessions only" })),
    }),
    success: { 200: closed({}) },
    handle: async ({ app, caller, actor, query: { keep_this = false }, reply }) => {
      const kept = keep_this ? actor.token_id : null;
      await app.db.query
        .transaction()
        .execute((tx) => endSessions(tx, actor, app.clock.now(), kept));
      app.notifications.send("token", accountTokensSubject(caller.account.id));
      if (!keep_this) clearSessionCookie(reply);
      return {};
    },
  }),
  route({
    method: "POST",
    url: "/api/v1/users/:id/sign-in-link",
    id: "createSignInLink",
    summary: "Create a link that signs the user in once: an invitation, or for a new password",
    tag,
    access: { anyOf: ["users.manage"] },
    params: closed({ id: pathId("The user") }),
    success: { 201: SignInLinkResponse },
    handle: (context) =>
      showSecretOnce(context, "path", (tx) =>
        createSignInLink(tx, grantorOf(context), context.params.id, context.app.clock.now()),
      ),
  }),
  route({
    method: "PUT",
    url: "/api/v1/me/password",
    id: "updatePassword",
    takes_no_key: true,
    summary: "Set the own password; the user's other sessions end",
    tag,
    access,
    body: PasswordRequest,
    success: { 200: closed({}) },
    handle: async ({ app, actor, body }) => {
      const { current_password = null, password } = body;
      await changePassword(app, actor, { current_password, password });
      return {};
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/me",
    id: "readMe",
    summary: "Read who the token is: user, account, features, permissions, credit and drivers",
    tag,
    access: { anyOf: "any_token" },
    success: { 200: Me },
    handle: async ({ app, caller }) => {
      const { account, user_id, permissions, token_kind } = caller;
      const db = app.db.query;
      const user = await findUser(db, account.id, user_id);
      const { id, name, email, phone, extension, is_owner } = user;
      const agent_numbers = await findAgentNumbers(db, account, user);
      return {
        user: {
          id,
          name,
          email,
          phone,
          extension,
          is_owner,
          agent_numbers,
          away_since: await readAwaySince(db, account.id, agent_numbers),
        },
        account: {
          id: account.id,
          name: account.name,
          time_zone: account.time_zone,
          country_code: account.country_code,
          features: [...account.features],
          frozen: account.frozen,
        },
        has_password: await hasPassword(db, account.id, user_id),
        credits: permissions.has("credits.read")
          ? {
              chat: await availableCredits(db, account.id, "chat"),
              call: await availableCredits(db, account.id, "call"),
            }
          : null,
        drivers: {
          chat: await chatDriversOf(db, account.id),
          voice: await voiceDriversOf(db, account.id),
        },
        permissions: [...permissions],
        token_kind,
      };
    },
  }),
];
