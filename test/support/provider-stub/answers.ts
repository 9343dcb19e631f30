export type StubAnswer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** An error as the Graph API answers it; 190 is 401, throttling 429, the rest 400 unless given. */
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
