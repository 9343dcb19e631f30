// A steady load of calls with many outcomes, each to a different customer.
import { setTimeout as pause } from "node:timers/promises";
import { farEnd, refusing } from "../support/sipp/outcomes.ts";
import type { CallDrillFixture, Phone } from "./call-drill-fixture.ts";

export type CallLoad = {
  /** The number of submissions answered 200. */
  accepted(): number;
  /** Counts the other responses by status; 0 stands for a request without a response. */
  refused(): Record<string, number>;
  stop(): Promise<void>;
};

let last_number = 0;

/** Returns a new number of a customer with this behavior. */
export function customer(kind: "hangs_up" | "rings_on" | "stays", after_seconds = 0): string {
  const suffix = String(++last_number).padStart(4, "0");
  if (kind === "hangs_up") return farEnd("hangs_up", after_seconds).slice(0, 6) + suffix;
  // A number without an outcome digit: the customer answers and stays on the line.
  if (kind === "stays") return `986000${suffix}`;
  return farEnd("rings_on").slice(0, 6) + suffix;
}

/** Returns a new number that the carrier refuses with this SIP status. */
export function refused(status: number): string {
  return refusing(status).slice(0, 6) + String(++last_number).padStart(4, "0");
}

/** Chooses a call: six in ten are bridged normally; the others have every other outcome. */
function choose(random: () => number): [Phone, string, Record<string, number>] {
  const again = { max_retry: 1, retry_after: 0 };
  const at = random();
  const talks = () => customer("hangs_up", random() < 0.5 ? 1 : 3);
  if (at < 0.6) return ["answers", talks(), {}];
  if (at < 0.65) return ["slow", talks(), {}];
  if (at < 0.72) return ["hangs_up", customer(random() < 0.5 ? "rings_on" : "stays"), {}];
  if (at < 0.76) return ["busy", talks(), again];
  if (at < 0.8) return ["rings_on", talks(), {}];
  if (at < 0.83) return ["declines", talks(), {}];
  if (at < 0.86) return ["unregistered", talks(), {}];
  if (at < 0.9) return ["answers", customer("rings_on"), {}];
  const status = [486, 503, 404, 603, 480, 500][Math.floor(random() * 6)]!;
  return ["answers", refused(status), again];
}

/** With more open calls the load waits, so that a busy machine can finish them. */
const open_max = 100;

/** Submits calls of every outcome at the fixture's phones. */
export function startCallLoad(
  fixture: CallDrillFixture,
  per_second: number,
  random: () => number,
): CallLoad {
  const countOpen = () => fixture.count("stage <> 'ended'");
  return startCalls(() => fixture.call(...choose(random)), countOpen, per_second);
}

/** Submits `per_second` calls a second until it is stopped; fewer while too many are open. `submit` returns the status. */
export function startCalls(
  submit: () => Promise<number>,
  countOpen: () => Promise<number>,
  per_second: number,
): CallLoad {
  const stopping = new AbortController();
  const statuses = new Map<number, number>();
  const pending = new Set<Promise<void>>();
  const submitOne = async () => {
    const status = await submit();
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  let open = 0;
  const watchOpen = async () => {
    while (!stopping.signal.aborted) {
      // Unknown while the database is unavailable.
      open = await countOpen().catch(() => 0);
      await pause(100);
    }
  };
  const run = async () => {
    for (let next_ms = performance.now(); !stopping.signal.aborted;) {
      next_ms = Math.max(next_ms + 1_000 / per_second, performance.now());
      await pause(Math.max(0, next_ms - performance.now()));
      if (open >= open_max) continue;
      const one: Promise<void> = submitOne().finally(() => pending.delete(one));
      pending.add(one);
    }
    await Promise.all(pending);
  };
  const running = Promise.all([run(), watchOpen()]);
  return {
    accepted: () => statuses.get(200) ?? 0,
    refused: () => Object.fromEntries([...statuses].filter(([status]) => status !== 200)),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
