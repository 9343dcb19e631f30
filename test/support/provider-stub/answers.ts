export type StubAnswer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Builds an error response of the Graph API; HTTP 401 for code 190, 429 for throttling, else 400 by default. */
export function graphError(code: number, subcode?: number, status?: number): StubAnswer {
  const usual = code === 190 ? 401 : code === 130_429 ? 429 : 400;
  return {
    status: status ?? usual,
    body: {
      error: {
        message: `(#${code}) Stub, for the token stub-token`,
        type: "OAuthException",
        code,
        ...(subcode === undefined ? {} : { error_subcode: subcode }),
        error_data: { messaging_product: "whatsapp", details: "Stub" },
        fbtrace_id: "stub",
      },
    },
  };
}
