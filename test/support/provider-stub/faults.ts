// What may go wrong with a message at the stub, and for which messages.

export type FaultKind =
  /** HTTP 500 with a Graph error (`code`, 131000 unless given). */
  | "graph_500"
  /** HTTP 500 with a page of HTML. */
  | "plain_500"
  /** HTTP 429 with Retry-After (`retry_after_seconds`, left out when null) and `code` (130429). */
  | "throttle"
  /** A Graph error with `code`: 131056, 131048, 132015, 131049, 131050, 131026, 190, … */
  | "refuse"
  /** The connection is cut before the body is read; goes by `nth`, `every` and `probability` alone. */
  | "cut_before_body"
  /** Cut after the body was read, without a byte of an answer. */
  | "cut_after_body"
  /** Cut in the middle of the answer. */
  | "cut_answer"
  /** The answer comes after `hang_ms` (30,000). */
  | "hang"
  /** 200 with JSON that ends too early. */
  | "broken_json"
  /** 200 without messages[0].id. */
  | "no_id"
  /** Accepted; its one report is `failed` with `code` (131026). */
  | "fail_later"
  /** Accepted and never reported on. */
  | "silent"
  /** Accepted and reported on, and then the customer writes `text`. */
  | "reply";

export type Fault = {
  readonly kind: FaultKind;
  /** Of the messages that the other conditions choose; 1 unless given. */
  readonly probability?: number;
  /** Only for recipients whose number ends so. */
  readonly to?: string;
  /** Only the messages with these numbers, counted from 1 by the stub since the faults were set. */
  readonly nth?: readonly number[];
  /** Only each so-many-th message. */
  readonly every?: number;
  /** At most so often; with `to`, for each recipient apart. */
  readonly times?: number;
  readonly code?: number;
  readonly retry_after_seconds?: number | null;
  readonly hang_ms?: number;
  readonly text?: string;
  /** Was the message taken all the same (it gets its reports)? Told per kind by `takes`. */
  readonly taken?: boolean;
};

const taking: ReadonlySet<FaultKind> = new Set([
  "cut_after_body",
  "cut_answer",
  "hang",
  "broken_json",
  "no_id",
  "fail_later",
  "silent",
  "reply",
]);

/** Does a message that meets this fault go out? */
export function takes(fault: Fault): boolean {
  return fault.taken ?? taking.has(fault.kind);
}

export type Faults = {
  /** The faults from now on; the count of messages starts anew. */
  set(faults: readonly Fault[], seed?: number): void;
  /** Called once for each message, before its body is read: should it be cut there? */
  cutsBeforeBody(): boolean;
  /** The first fault that meets the message just counted, or null. */
  choose(to: string): Fault | null;
};

/** The same seed gives the same faults for the same messages in the same order. */
export function openFaults(): Faults {
  let faults: readonly Fault[] = [];
  let random = seededRandom(1);
  let count = 0;
  let used = new Map<string, number>();
  const meets = (fault: Fault, index: number, to: string): boolean => {
    if (fault.to !== undefined && !to.endsWith(fault.to)) return false;
    if (fault.nth !== undefined && !fault.nth.includes(count)) return false;
    if (fault.every !== undefined && count % fault.every !== 0) return false;
    if (fault.probability !== undefined && random() >= fault.probability) return false;
    if (fault.times === undefined) return true;
    const key = fault.to === undefined ? String(index) : `${index} ${to}`;
    const so_far = used.get(key) ?? 0;
    used.set(key, so_far + 1);
    return so_far < fault.times;
  };
  return {
    set(next, seed = 1) {
      faults = next;
      random = seededRandom(seed);
      count = 0;
      used = new Map();
    },
    cutsBeforeBody() {
      count += 1;
      return faults.some(
        (fault, index) => fault.kind === "cut_before_body" && meets(fault, index, ""),
      );
    },
    choose(to) {
      if (faults.length === 0) return null;
      const found = faults.find(
        (fault, index) => fault.kind !== "cut_before_body" && meets(fault, index, to),
      );
      return found ?? null;
    },
  };
}

/** mulberry32: numbers in [0, 1) that a seed decides. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
