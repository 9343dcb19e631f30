// Signing in at a provider of identities: OpenID Connect with the authorization code, PKCE, state and nonce
// (https://openid.net/specs/openid-connect-core-1_0.html, RFC 9700).
import * as client from "openid-client";
import type { OidcSettings } from "../../lib/outgoing/oidc-settings.ts";
import { tracedRequest } from "../../lib/tracing/traced-request.ts";
import { OidcUnreachable, type OidcProvider } from "./driver.ts";

const timeout_seconds = 10;
/** How long the provider's description is kept, and that it could not be read: anyone can begin sign-ins. */
const kept_ms = { description: 3_600_000, failure: 5_000 } as const;
/** How Entra ID writes that the owner of the address's domain is verified (`xms_edov`). */
const edov_true: ReadonlySet<unknown> = new Set([true, 1, "1", "true"]);

type Discovery = { readonly config: Promise<client.Configuration>; until_ms: number };

/** Opens a provider, which is asked for its description at the first sign-in. */
export function openOidc(settings: OidcSettings): OidcProvider {
  const { issuer, label } = settings;
  let last: Discovery | null = null;
  const discover = (): Promise<client.Configuration> => {
    if (last && performance.now() < last.until_ms) return last.config;
    // All sign-ins share the request in progress.
    const discovery: Discovery = {
      config: readDescription(settings),
      until_ms: Number.POSITIVE_INFINITY,
    };
    const keep = (ms: number) => () => void (discovery.until_ms = performance.now() + ms);
    discovery.config.then(keep(kept_ms.description), keep(kept_ms.failure));
    last = discovery;
    return discovery.config;
  };
  return {
    label,
    async begin(redirect_uri) {
      const config = await discover();
      const request = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        code_verifier: client.randomPKCECodeVerifier(),
      };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri,
        scope: "openid email",
        state: request.state,
        nonce: request.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(request.code_verifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, request };
    },
    async finish(answer, { state, nonce, code_verifier }) {
      const config = await discover();
      const tokens = await client
        .authorizationCodeGrant(config, answer, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: code_verifier,
          idTokenExpected: true,
        })
        .catch((error: unknown) => {
          // What fetch throws when no answer comes.
          throw error instanceof TypeError ? new OidcUnreachable(issuer, { cause: error }) : error;
        });
      const claims = tokens.claims()!;
      // Many providers name the address only at this endpoint.
      const in_token = claims["email"] !== undefined;
      const { email, email_verified } = in_token
        ? claims
        : await client.fetchUserInfo(config, tokens.access_token, claims.sub);
      // Entra ID sends no `email_verified`. Its own claim is about the address in the same token.
      const is_domain_verified = in_token && edov_true.has(claims["xms_edov"]);
      return {
        email: typeof email === "string" ? email : null,
        email_verified: email_verified === undefined ? is_domain_verified : email_verified === true,
        is_multi_factor: Array.isArray(claims["amr"]) && claims["amr"].includes("mfa"),
      };
    },
  };
}

function readDescription({
  issuer,
  client_id,
  client_secret,
}: OidcSettings): Promise<client.Configuration> {
  const url = new URL(issuer);
  return client
    .discovery(url, client_id, client_secret, undefined, {
      timeout: timeout_seconds,
      [client.customFetch]: fetchTraced,
      execute: [
        // Without it, the client trusts TLS instead of the token's signature.
        client.enableNonRepudiationChecks,
        // The settings allow http on this machine only, for which the function is meant.
        // oxlint-disable-next-line no-deprecated
        ...(url.protocol === "http:" ? [client.allowInsecureRequests] : []),
      ],
    })
    .catch((cause: unknown) => {
      throw new OidcUnreachable(`${issuer} does not describe itself`, { cause });
    });
}

const fetchTraced: client.CustomFetch = (url, options) =>
  tracedRequest({ method: options.method, url }, async (onStatus) => {
    const answer = await fetch(url, { ...options, body: options.body ?? null });
    onStatus(answer.status);
    return answer;
  });
