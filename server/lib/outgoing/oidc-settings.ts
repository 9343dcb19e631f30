/** A provider of identities (OpenID Connect) at which people sign in. */
export type OidcSettings = {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** What the sign-in page calls it. */
  readonly label: string;
};

/** Validates the settings OIDC_*, of which all but the label must be set, or none. */
export function oidcSettings(
  given: { readonly [Key in keyof OidcSettings]: string | null },
  violation: (text: string) => void,
): OidcSettings | null {
  const { issuer, client_id, client_secret, label } = given;
  if (issuer === null && client_id === null && client_secret === null) return null;
  const url = issuer !== null && URL.canParse(issuer) ? new URL(issuer) : null;
  if (issuer !== null && !isSafe(url))
    violation(`OIDC_ISSUER: "${issuer}" must be an https address, or http on this machine`);
  if (issuer !== null && client_id !== null && client_secret !== null)
    return { issuer, client_id, client_secret, label: label ?? url?.hostname ?? issuer };
  violation("OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: set all of them or none");
  return null;
}

function isSafe(url: URL | null): boolean {
  if (url?.protocol === "https:") return true;
  return url?.protocol === "http:" && /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname);
}
