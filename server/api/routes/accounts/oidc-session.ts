// Signing in at the installation's provider of identities.
import { beginOidc, finishOidc } from "../../../accounts/sessions/oidc-sign-in.ts";
import {
  OidcAnswer,
  OidcSignIn,
  SignInResponse,
} from "../../../accounts/sessions/session-schema.ts";
import { clientOf } from "../../checks/client-of.ts";
import {
  clearOidcCookie,
  readOidcCookie,
  refuseCrossSite,
  refusePlainHttp,
  setOidcCookie,
} from "../../checks/session-cookie.ts";
import { answerSignIn } from "./answer-sign-in.ts";
import { publicRoute } from "../../route.ts";

const tag = "Sessions";

export const oidcSessionRoutes = [
  publicRoute({
    method: "POST",
    url: "/api/v1/session/oidc",
    id: "requestOidcSignIn",
    summary: "Begin to sign in at the identity provider; sets a cookie for ten minutes",
    tag,
    success: { 200: OidcSignIn },
    handle: async ({ app, request, reply }) => {
      refuseCrossSite(request);
      refusePlainHttp(request);
      const { url, cookie } = await beginOidc(app, clientOf(request));
      setOidcCookie(reply, cookie);
      return { url };
    },
  }),
  publicRoute({
    method: "POST",
    url: "/api/v1/session/oidc/answer",
    id: "createSessionByOidc",
    summary: "Sign in with the identity provider's answer; sets the session's cookie",
    tag,
    body: OidcAnswer,
    success: { 200: SignInResponse },
    handle: async (context) => {
      const { app, body, request, reply } = context;
      refuseCrossSite(request);
      const { answer = null, account_id = null, code = null } = body;
      const cookie = readOidcCookie(request);
      // An answer is taken once; after it, a wrong code may be corrected.
      if (answer !== null) clearOidcCookie(reply);
      const given = { answer, account_id, code, cookie };
      const { result, identity } = await finishOidc(app, given, clientOf(request));
      if (identity === null) clearOidcCookie(reply);
      else setOidcCookie(reply, identity);
      return answerSignIn(context, result);
    },
  }),
];
