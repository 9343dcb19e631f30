// An identity provider on this machine: whoever comes to its sign-in page has signed in already.
import {
  createHash,
  createSign,
  generateKeyPairSync,
  randomUUID,
  type KeyObject,
} from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { AddressInfo } from "node:net";
import type { OidcSettings } from "../../server/lib/outgoing/oidc-settings.ts";

type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
type Claims = Record<string, unknown>;
type Grant = { readonly claims: Claims; readonly challenge: string; readonly redirect_uri: string };

export type OidcStub = {
  readonly settings: OidcSettings;
  /** Of the next token: who has signed in. A claim of undefined is left out. */
  claims: Claims;
  /** Whether tokens are signed with a key that is not published. */
  is_forger: boolean;
  /** Requests for its description so far. */
  discoveries: number;
  /** Its description comes after this; a rejection is a 500. */
  until_described: Promise<void> | null;
  /** What only the userinfo endpoint says. */
  userinfo: Claims;
  close(): Promise<void>;
};

/** Starts a provider on 127.0.0.1. */
export async function startOidcStub(): Promise<OidcStub> {
  const [{ publicKey, privateKey }, forged] = [0, 1].map(() =>
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ) as [KeyPair, KeyPair];
  const client = { client_id: "trunkline", client_secret: "a secret of the client" };
  const grants = new Map<string, Grant>();
  const server = createServer((request, response) => {
    void answer(request).then(
      ({ status = 200, headers = {}, json }) =>
        response
          .writeHead(status, { "content-type": "application/json", ...headers })
          .end(JSON.stringify(json ?? {})),
      (error: unknown) => response.destroy(error as Error),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stub: OidcStub = {
    settings: { issuer, ...client, label: "Example" },
    claims: {},
    is_forger: false,
    discoveries: 0,
    until_described: null,
    userinfo: {},
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };

  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const sign = (claims: Claims) => {
    const signed = `${part({ alg: "RS256", kid: "1" })}.${part(claims)}`;
    return `${signed}.${createSign("sha256")
      .update(signed)
      .sign(stub.is_forger ? forged.privateKey : privateKey, "base64url")}`;
  };
  const authorize = (query: URLSearchParams) => {
    const code = randomUUID();
    const redirect_uri = query.get("redirect_uri")!;
    const now = Math.floor(Date.now() / 1_000);
    const standard = { iss: issuer, sub: "1", aud: client.client_id, iat: now, exp: now + 60 };
    grants.set(code, {
      claims: { ...standard, nonce: query.get("nonce"), ...stub.claims },
      challenge: query.get("code_challenge")!,
      redirect_uri,
    });
    const back = new URLSearchParams({ code, state: query.get("state")! });
    return { status: 302, headers: { location: `${redirect_uri}?${back.toString()}` } };
  };
  const redeem = (form: URLSearchParams) => {
    const code = form.get("code")!;
    const grant = grants.get(code);
    grants.delete(code);
    const verifier = form.get("code_verifier") ?? "";
    const isValid =
      grant?.challenge === createHash("sha256").update(verifier).digest("base64url") &&
      grant.redirect_uri === form.get("redirect_uri") &&
      form.get("client_secret") === client.client_secret;
    if (!isValid) return { status: 400, json: { error: "invalid_grant" } };
    const access_token = randomUUID();
    return { json: { access_token, token_type: "Bearer", id_token: sign(grant.claims) } };
  };
  const answer = async (
    request: IncomingMessage,
  ): Promise<{ status?: number; headers?: Record<string, string>; json?: unknown }> => {
    const { pathname, searchParams } = new URL(request.url!, issuer);
    switch (pathname) {
      case "/.well-known/openid-configuration":
        stub.discoveries += 1;
        try {
          await stub.until_described;
        } catch {
          return { status: 500 };
        }
        return {
          json: {
            issuer,
            authorization_endpoint: `${issuer}/authorize`,
            token_endpoint: `${issuer}/token`,
            userinfo_endpoint: `${issuer}/userinfo`,
            jwks_uri: `${issuer}/jwks`,
            response_types_supported: ["code"],
            subject_types_supported: ["public"],
            id_token_signing_alg_values_supported: ["RS256"],
            code_challenge_methods_supported: ["S256"],
          },
        };
      case "/jwks": {
        const key = publicKey.export({ format: "jwk" });
        return { json: { keys: [{ ...key, kid: "1", alg: "RS256", use: "sig" }] } };
      }
      case "/authorize":
        return authorize(searchParams);
      case "/token":
        return redeem(new URLSearchParams(await text(request)));
      case "/userinfo":
        return { json: { sub: "1", ...stub.userinfo } };
      default:
        return { status: 404 };
    }
  };
  return stub;
}
