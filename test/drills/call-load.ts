// Calls one after the other, of many outcomes, each to a customer of its own.
import { setTimeout as pause } from "node:timers/promises";
import { farEnd, refusing } from "../support/sipp/outcomes.ts";
import type { CallDrillFixture, Phone } from "./call-drill-fixture.ts";

export type CallLoad = {
  /** Submitted calls that were answered 200. */
  taken(): number;
  /** What other answers there were, by their status; 0 is none at all. */
  refused(): Record<string, number>;
  stop(): Promise<void>;
};

let numbers = 0;

/** A number that nobody else has, of a customer who does that. */
export function customer(kind: "hangs_up" | "rings_on" | "stays", after_seconds = 0): string {
  const own = String(++numbers).padStart(4, "0");
  if (kind === "hangs_up") return farEnd("hangs_up", after_seconds).slice(0, 6) + own;
  // An even beginning is no steered one: answered, and stays.
  if (kind === "stays") return `986000${own}`;
  return farEnd("rings_on").slice(0, 6) + own;
}

/** A number that nobody else has and that the carrier refuses so. */
export function refused(status: number): string {
  return refusing(status).slice(0, 6) + String(++numbers).padStart(4, "0");
}

/** Six in ten talk; the others end in every other way. */
function choose(random: () => number): [Phone, string, Record<string, number>] {
  const again = { max_retry: 1, retry_after: 0 };
  const at = random();
  const talks = () => customer("hangs_up", random() < 0.5 ? 1 : 3);
  if (at < 0.6) return ["answers", talks(), {}];
  if (at < 0.65) return ["slow", talks(), {}];
  if (at < 0.72) return ["leaves", customer(random() < 0.5 ? "rings_on" : "stays"), {}];
  if (at < 0.76) return ["busy", talks(), again];
  if (at < 0.8) return ["rings_on", talks(), {}];
  if (at < 0.83) return ["declines", talks(), {}];
  if (at < 0.86) return ["unregistered", talks(), {}];
  if (at < 0.9) return ["answers", customer("rings_on"), {}];
  const status = [486, 503, 404, 603, 480, 500][Math.floor(random() * 6)]!;
  return ["answers", refused(status), again];
}

/** Beyond, the load waits: a busy machine must come to the end of its calls. */
const open_max = 100;

/** Submits so many calls a second until it is stopped, fewer while too many are open. */
export function startCallLoad(
  fixture: CallDrillFixture,
  per_second: number,
  random: () => number,
): CallLoad {
  const stopping = new AbortController();
  const statuses = new Map<number, number>();
  const under_way = new Set<Promise<void>>();
  const submit = async () => {
    const status = await fixture.call(...choose(random));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  let open = 0;
  const watch = async () => {
    while (!stopping.signal.aborted) {
      // Nobody can tell while the database is away.
      open = await fixture.count("stage <> 'ended'").catch(() => 0);
      await pause(100);
    }
  };
  const run = async () => {
    for (let next_ms = performance.now(); !stopping.signal.aborted;) {
      next_ms = Math.max(next_ms + 1_000 / per_second, performance.now());
      await pause(Math.max(0, next_ms - performance.now()));
      if (open >= open_max) continue;
      const one: Promise<void> = submit().finally(() => under_way.delete(one));
      under_way.add(one);
    }
    await Promise.all(under_way);
  };
  const running = Promise.all([run(), watch()]);
  return {
    taken: () => statuses.get(200) ?? 0,
    refused: () => Object.fromEntries([...statuses].filter(([status]) => status !== 200)),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
