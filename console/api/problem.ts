/** An error of the API as problem details (RFC 9457), or a connection that failed. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly status: number;
  readonly type: string;
  /** The invalid fields of a 422. */
  readonly errors: readonly { readonly field: string; readonly reason: string }[];
  /** To name in a report; null if no answer came. */
  readonly request_id: string | null;
  constructor(status: number, type: string, detail: string, more: Partial<ApiProblem> = {}) {
    super(detail);
    this.status = status;
    this.type = type;
    this.errors = more.errors ?? [];
    this.request_id = more.request_id ?? null;
  }
}
