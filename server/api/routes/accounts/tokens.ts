import type { Caller } from "../../../accounts/caller.ts";
import { grantorOf } from "../../../accounts/roles/grantor.ts";
import { issueToken, type Issued } from "../../../accounts/tokens/issue-token.ts";
import { validateToken } from "../../../accounts/tokens/validate-token.ts";
import { revokeToken } from "../../../accounts/tokens/revoke-token.ts";
import { rotateToken } from "../../../accounts/tokens/rotate-token.ts";
import { tokenSubject } from "../../../accounts/tokens/token-directory.ts";
import {
  IssuedToken,
  TokenRequest,
  TokenResponse,
  TokenRotation,
} from "../../../accounts/tokens/token-schema.ts";
import { findToken, listTokens } from "../../../accounts/tokens/tokens.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import type { ApiApp } from "../../api-app.ts";
import { route } from "../../route.ts";
import { showSecretOnce } from "../shared/show-secret-once.ts";

const tokenParams = closed({ id: pathId("The token") });
const access = { anyOf: ["tokens.manage"] } as const;

export const tokenRoutes = [
  route({
    method: "GET",
    url: "/api/v1/tokens",
    id: "listTokens",
    summary: "List tokens, without their secrets",
    tag: "Tokens",
    access,
    query: closed(pageQuery),
    success: { 200: pageOf(TokenResponse) },
    handle: ({ app, caller, query }) => listTokens(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: "/api/v1/tokens",
    id: "createToken",
    summary: "Create a token; the answer shows it once",
    tag: "Tokens",
    access,
    body: TokenRequest,
    success: { 201: IssuedToken },
    validate: ({ app, caller, body }) =>
      validateToken(body, caller.account.time_zone, app.clock.now()),
    handle: (context) =>
      showSecretOnce(context, "token", async (tx) => {
        const { time_zone } = context.caller.account;
        const now = context.app.clock.now();
        return shownToken(await issueToken(tx, grantorOf(context), context.body, time_zone, now));
      }),
  }),
  route({
    method: "GET",
    url: "/api/v1/tokens/:id",
    id: "readToken",
    summary: "Read a token, without its secret",
    tag: "Tokens",
    access,
    params: tokenParams,
    success: { 200: TokenResponse },
    handle: ({ app, caller, params }) => findToken(app.db.query, caller.account.id, params.id),
  }),
  route({
    method: "POST",
    url: "/api/v1/tokens/:id/revoke",
    id: "revokeToken",
    summary: "Revoke a token immediately",
    tag: "Tokens",
    access,
    params: tokenParams,
    success: { 200: TokenResponse },
    handle: async (context) => {
      const { app, caller, params, write } = context;
      const token = await write((tx) =>
        revokeToken(tx, grantorOf(context), params.id, app.clock.now()),
      );
      purge(app, caller, params.id);
      return token;
    },
  }),
  route({
    method: "POST",
    url: "/api/v1/tokens/:id/rotate",
    id: "rotateToken",
    summary: "Rotate a token; the answer shows the new one once",
    tag: "Tokens",
    access,
    params: tokenParams,
    body: TokenRotation,
    success: { 201: IssuedToken },
    handle: async (context) => {
      const { app, caller, params, body } = context;
      const token = await showSecretOnce(context, "token", async (tx) =>
        shownToken(await rotateToken(tx, grantorOf(context), params.id, body, app.clock.now())),
      );
      purge(app, caller, params.id);
      return token;
    },
  }),
];

function purge(app: ApiApp, caller: Caller, tokenId: number): void {
  app.notifications.send("token", tokenSubject(caller.account.id, tokenId));
}

function shownToken({ answer, token }: Issued): IssuedToken {
  return { ...answer, token };
}
