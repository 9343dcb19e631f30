// The catalogue of what can go wrong in a way a caller should hear of. Verbs throw these;
// the API renders them (RFC 9457, or a route's own shape). Everything else is a 500.

/** One failing field: its path (`contacts.3.variables`) and why it fails. */
export type FieldError = { readonly field: string; readonly reason: string };

/** `type` word and HTTP status of every refusal, as the contract (section 7) spells them. */
export const refusals = {
  "bad-request": { status: 400, title: "The request cannot be carried out" },
  "malformed-body": { status: 400, title: "The body could not be parsed" },
  INVALID_AGENT: { status: 400, title: "The assigned agent is not known" },
  INVALID_CONTACT: { status: 400, title: "The contact is not known in this workspace" },
  unauthorized: { status: 401, title: "A valid access token is required" },
  forbidden: { status: 403, title: "This token may not do that" },
  "permission-denied": { status: 403, title: "This agent has no permission to do that" },
  "not-found": { status: 404, title: "There is no such resource" },
  "method-not-allowed": { status: 405, title: "This method is not supported here" },
  "request-timeout": { status: 408, title: "The request took too long to arrive" },
  conflict: { status: 409, title: "The present state does not allow that" },
  "insufficient-credit": { status: 409, title: "There is not enough credit" },
  "body-too-large": { status: 413, title: "The body is too large" },
  "unsupported-media-type": { status: 415, title: "The content type is not supported here" },
  "validation-failed": { status: 422, title: "Some fields are not valid" },
  "rate-limited": { status: 429, title: "Too many requests" },
  "internal-error": { status: 500, title: "Something went wrong on our side" },
  unavailable: { status: 503, title: "The service cannot answer just now" },
} as const satisfies Record<string, { status: number; title: string }>;

export type RefusalType = keyof typeof refusals;

/** A refusal the caller is told of. `message` is public text: it never holds internals. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly type: RefusalType;
  readonly errors: readonly FieldError[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** `cause` is what really happened, for the log alone. */
  constructor(
    type: RefusalType,
    detail: string,
    more: {
      errors?: readonly FieldError[];
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: more.cause });
    this.type = type;
    this.errors = more.errors;
    this.headers = more.headers ?? {};
  }
}

/** How many failing fields an answer names; it counts the others. */
export const errors_told_max = 100;
const field_characters_max = 200;

/** 422 with every failing field (at most 100 are told). */
export function invalid(errors: readonly FieldError[]): Refusal {
  const shown = errors.slice(0, errors_told_max).map(shorten);
  const detail =
    shown.length === 1
      ? `${shown[0]!.field}: ${shown[0]!.reason}`
      : `${errors.length} fields are not valid`;
  return new Refusal("validation-failed", detail, { errors: shown });
}

/** A path holds keys of the sender's: a hundred times one of a megabyte would be the answer. */
function shorten({ field, reason }: FieldError): FieldError {
  if (field.length <= field_characters_max) return { field, reason };
  return { field: `${field.slice(0, field_characters_max).toWellFormed()}…`, reason };
}

/** 422 on one field. */
export function invalidField(field: string, reason: string): Refusal {
  return invalid([{ field, reason }]);
}

/** The one answer for what does not exist, and for what is another account's. */
export function notFound(): Refusal {
  return new Refusal("not-found", "There is no such resource on this account");
}

/** 503: nothing is wrong with the request, it may be sent again. */
export function unavailable(cause: unknown): Refusal {
  return new Refusal("unavailable", "The service cannot answer just now; try again shortly", {
    headers: { "retry-after": "1" },
    cause,
  });
}
