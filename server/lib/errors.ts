// The catalogue of errors that callers receive. Verbs throw these; the API renders them (RFC 9457, or a
// route's own shape). Any other error is a 500.

/** One failing field: its path (`contacts.3.variables`) and why it fails. */
export type FieldError = { readonly field: string; readonly reason: string };

/** The `type` and HTTP status of every refusal, spelled as in the contract (section 7). */
export const refusals = {
  "bad-request": { status: 400, title: "The request cannot be processed" },
  "malformed-body": { status: 400, title: "The body could not be parsed" },
  INVALID_AGENT: { status: 400, title: "The assigned agent does not exist" },
  INVALID_CONTACT: { status: 400, title: "The contact does not exist in this workspace" },
  unauthorized: { status: 401, title: "A valid access token is required" },
  forbidden: { status: 403, title: "This token does not have permission" },
  "permission-denied": { status: 403, title: "This agent does not have permission" },
  "not-found": { status: 404, title: "The resource does not exist" },
  "method-not-allowed": { status: 405, title: "This method is not supported here" },
  "request-timeout": { status: 408, title: "The request took too long to arrive" },
  conflict: { status: 409, title: "The resource's current state does not allow this" },
  "insufficient-credit": { status: 409, title: "Insufficient credit" },
  "body-too-large": { status: 413, title: "The body is too large" },
  "unsupported-media-type": { status: 415, title: "The content type is not supported here" },
  "range-not-satisfiable": { status: 416, title: "The range is not within the file" },
  "validation-failed": { status: 422, title: "Some fields are not valid" },
  "rate-limited": { status: 429, title: "Too many requests" },
  "internal-error": { status: 500, title: "Internal server error" },
  unavailable: { status: 503, title: "The service is temporarily unavailable" },
} as const satisfies Record<string, { status: number; title: string }>;

export type RefusalType = keyof typeof refusals;
export type RefusalReason = "account_frozen";

/** An error for the caller. `message` is public and never contains internals. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly type: RefusalType;
  readonly errors: readonly FieldError[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Why a 5xx does not mean that the service failed; for metrics. */
  readonly reason: RefusalReason | undefined;
  /** `cause` is the underlying error, for the log only. */
  constructor(
    type: RefusalType,
    detail: string,
    more: {
      errors?: readonly FieldError[];
      headers?: Record<string, string>;
      reason?: RefusalReason;
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: more.cause });
    this.type = type;
    this.errors = more.errors;
    this.headers = more.headers ?? {};
    this.reason = more.reason;
  }
}

/** The most field errors in a response. */
export const errors_shown_max = 100;
const field_characters_max = 200;

/** Returns a 422 with the violations, at most 100 of them; the detail reports that there are more. */
export function invalid(errors: readonly FieldError[]): Refusal {
  const shown = errors.slice(0, errors_shown_max).map(shorten);
  const detail =
    shown.length === 1
      ? `${shown[0]!.field}: ${shown[0]!.reason}`
      : errors.length > errors_shown_max
        ? `More than ${errors_shown_max} fields are not valid; the first ${errors_shown_max} are listed`
        : `${errors.length} fields are not valid`;
  return new Refusal("validation-failed", detail, { errors: shown });
}

/** Paths contain keys of the sender, which may be megabytes long. */
function shorten({ field, reason }: FieldError): FieldError {
  if (field.length <= field_characters_max) return { field, reason };
  return { field: `${field.slice(0, field_characters_max).toWellFormed()}…`, reason };
}

/** Returns a 422 on one field. */
export function invalidField(field: string, reason: string): Refusal {
  return invalid([{ field, reason }]);
}

/** Returns the same error for a missing resource and for another account's. */
export function notFound(): Refusal {
  return new Refusal("not-found", "The resource does not exist in this account");
}

/** Returns a 503 for a write of a frozen account: it may be repeated, at the installation that the account moves to. */
export function frozenAccount(): Refusal {
  return new Refusal(
    "unavailable",
    "This account is frozen while it moves to another installation; try again later",
    { headers: { "retry-after": "60" }, reason: "account_frozen" },
  );
}

/** Returns a 503: the request is fine and may be repeated. */
export function unavailable(cause: unknown): Refusal {
  return new Refusal("unavailable", "The service is temporarily unavailable; try again shortly", {
    headers: { "retry-after": "1" },
    cause,
  });
}
