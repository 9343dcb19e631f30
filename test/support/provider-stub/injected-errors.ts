// Errors that a test injects into the stub, and the messages that they apply to.

export type InjectedErrorKind =
  /** HTTP 500 with a Graph error (`code`, 131000 by default). */
  | "graph_500"
  /** HTTP 500 with a page of HTML. */
  | "plain_500"
  /** HTTP 429 with Retry-After (`retry_after_seconds`, omitted when null) and `code` (130429). */
  | "throttle"
  /** A Graph error with `code`: 131056, 131048, 132015, 131049, 131050, 131026, 190, … */
  | "refuse"
  /** The connection is cut before the body is read; applies by `nth`, `every` and `probability` only. */
  | "cut_before_body"
  /** Cut after the body is read, without any response. */
  | "cut_after_body"
  /** Cut in the middle of the response. */
  | "cut_answer"
  /** The response is delayed by `hang_ms` (30,000). */
  | "hang"
  /** 200 with truncated JSON. */
  | "broken_json"
  /** 200 without messages[0].id. */
  | "no_id"
  /** Accepted; its only delivery status is `failed` with `code` (131026). */
  | "fail_later"
  /** Accepted without any delivery status. */
  | "silent"
  /** Accepted with delivery statuses and a reply `text` from the customer. */
  | "reply";

export type InjectedError = {
  readonly kind: InjectedErrorKind;
  /** The share of the messages that meet the other conditions; 1 by default. */
  readonly probability?: number;
  /** Only recipients whose number ends with this. */
  readonly to?: string;
  /** Only the messages at these positions, counted from 1 since the errors were set. */
  readonly nth?: readonly number[];
  /** Only every n-th message. */
  readonly every?: number;
  /** At most this often; with `to`, for each recipient. */
  readonly times?: number;
  readonly code?: number;
  readonly retry_after_seconds?: number | null;
  readonly hang_ms?: number;
  readonly text?: string;
  /** Whether the message is accepted despite the error and gets delivery statuses; by default, `takes` decides. */
  readonly taken?: boolean;
};

const taking: ReadonlySet<InjectedErrorKind> = new Set([
  "cut_after_body",
  "cut_answer",
  "hang",
  "broken_json",
  "no_id",
  "fail_later",
  "silent",
  "reply",
]);

/** Returns whether a message with this error is accepted. */
export function takes(error: InjectedError): boolean {
  return error.taken ?? taking.has(error.kind);
}

export type ErrorInjector = {
  /** Replaces all errors and restarts the count of messages. */
  set(errors: readonly InjectedError[], seed?: number): void;
  /** Counts a message before its body is read and returns whether to cut its connection. */
  cutsBeforeBody(): boolean;
  /** Returns the first error that applies to the message just counted, or null. */
  choose(to: string): InjectedError | null;
};

/** Opens the injector; the same seed chooses the same errors for the same messages in the same order. */
export function openErrorInjector(): ErrorInjector {
  let errors: readonly InjectedError[] = [];
  let random = seededRandom(1);
  let count = 0;
  let used = new Map<string, number>();
  const applies = (error: InjectedError, index: number, to: string): boolean => {
    if (error.to !== undefined && !to.endsWith(error.to)) return false;
    if (error.nth !== undefined && !error.nth.includes(count)) return false;
    if (error.every !== undefined && count % error.every !== 0) return false;
    if (error.probability !== undefined && random() >= error.probability) return false;
    if (error.times === undefined) return true;
    const key = error.to === undefined ? String(index) : `${index} ${to}`;
    const so_far = used.get(key) ?? 0;
    used.set(key, so_far + 1);
    return so_far < error.times;
  };
  return {
    set(next, seed = 1) {
      errors = next;
      random = seededRandom(seed);
      count = 0;
      used = new Map();
    },
    cutsBeforeBody() {
      count += 1;
      return errors.some(
        (error, index) => error.kind === "cut_before_body" && applies(error, index, ""),
      );
    },
    choose(to) {
      if (errors.length === 0) return null;
      const found = errors.find(
        (error, index) => error.kind !== "cut_before_body" && applies(error, index, to),
      );
      return found ?? null;
    },
  };
}

/** Returns a generator of numbers in [0, 1) from a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
