// Requests to addresses that users gave us.

export type OutgoingRequest = {
  /** The account: no connection is shared with another one, nor waited for because of it. */
  readonly sender: number;
  readonly method: "GET" | "POST" | "PUT";
  /** http or https, without a user name. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: none is sent. */
  readonly body: string | null;
  /** Of the whole exchange, from the look-up of the name; a body gets a second at most once the status is known. */
  readonly timeout_ms: number;
};

export type OutgoingAnswer = {
  readonly status: number;
  /** As it came. */
  readonly retry_after: string | null;
  /** Its beginning, as text that PostgreSQL can store; the rest is not read. */
  readonly text: string;
};

/**
 * Why there is no answer:
 * - `blocked`: no request left, because the address, its port or its form is not allowed;
 * - `unreachable`: no connection, or it broke;
 * - `timeout`: no answer in time.
 * The message is for the owner of the URL: it names what was wrong and no more of our network.
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
   * Follows no redirect: that is an answer; sends nothing twice. Throws OutgoingError and nothing else, as it
   * does when it is aborted. Once the status is known that is the answer, with as much of the body as came.
   */
  send(request: OutgoingRequest, signal?: AbortSignal): Promise<OutgoingAnswer>;
  /** What is wrong with a URL that a user gives, as far as it can be told without looking a name up, or null. */
  validate(url: string): string | null;
  /** Cuts what is under way, ends all connections. */
  close(): Promise<void>;
};
