// Requests to URLs that users provide.

export type OutgoingRequest = {
  /** The account: connections are never shared between accounts. */
  readonly sender: number;
  readonly method: "GET" | "POST" | "PUT";
  /** http or https, without a user name. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no body. */
  readonly body: string | null;
  /** Limit of the whole exchange, including the look-up; once the status is known, a body gets at most a second. */
  readonly timeout_ms: number;
};

export type OutgoingResponse = {
  readonly status: number;
  /** The header's raw value. */
  readonly retry_after: string | null;
  /** The beginning of the body, as text that PostgreSQL can store; the rest is not read. */
  readonly text: string;
};

/**
 * The reason for a missing response:
 * - `blocked`: nothing was sent, because the address, port or URL is not allowed;
 * - `unreachable`: the connection failed or was lost;
 * - `timeout`: no response in time.
 * The message is for the owner of the URL and reveals nothing else about our network.
 */
export type OutgoingFailure = "blocked" | "unreachable" | "timeout";

export class OutgoingError extends Error {
  override readonly name = "OutgoingError";
  readonly failure: OutgoingFailure;
  constructor(failure: OutgoingFailure, message: string, more: { cause?: unknown } = {}) {
    super(message, more);
    this.failure = failure;
  }
}

export type OutgoingHttp = {
  /**
   * Sends one request, once. Redirects are returned, not followed. Throws only OutgoingError, also when aborted.
   * Once the status is known, it is the result, with as much of the body as arrived.
   */
  send(request: OutgoingRequest, signal?: AbortSignal): Promise<OutgoingResponse>;
  /** Returns what is wrong with a user's URL, without looking its name up, or null. */
  validate(url: string): string | null;
  /** Aborts requests in flight and closes all connections. */
  close(): Promise<void>;
};
