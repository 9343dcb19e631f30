// What a provider of identities does. Apart from its client, which takes long to load.

/** What the provider's answer must match; a secret of the browser that began. */
export type OidcRequest = {
  readonly state: string;
  readonly nonce: string;
  readonly code_verifier: string;
};

/** Who the provider says has signed in. */
export type OidcIdentity = {
  /** Null: the provider does not name it. */
  readonly email: string | null;
  readonly email_verified: boolean;
  /** Whether the provider has asked for a second factor (RFC 8176, amr mfa). */
  readonly is_multi_factor: boolean;
};

/** The provider cannot be reached. */
export class OidcUnreachable extends Error {
  override readonly name = "OidcUnreachable";
}

export type OidcProvider = {
  readonly label: string;
  /** Returns the provider's page to go to. Throws OidcUnreachable. */
  begin(redirect_uri: string): Promise<{ readonly url: string; readonly request: OidcRequest }>;
  /**
   * Redeems the answer, the address to which the provider returned; a code is redeemed once. Throws OidcUnreachable, or
   * another error for an answer that is not what was asked for.
   */
  finish(answer: URL, request: OidcRequest): Promise<OidcIdentity>;
};
