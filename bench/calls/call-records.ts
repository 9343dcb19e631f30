// What Asterisk itself wrote down of the legs: the measure for everybody, whoever steered them.
import { readFileSync, statSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { until } from "../lib/until.ts";

/** Where the records end now. */
export function endOfRecords(cdr_path: string): number {
  return statSync(cdr_path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Waits for `count` legs since `from`: Asterisk writes one down a moment after it has told of its end. */
export function awaitRecords(cdr_path: string, from: number, count: number): Promise<void> {
  return until(`${count} legs are written down`, () =>
    Promise.resolve(countRecords(cdr_path, from) >= count),
  );
}

function countRecords(cdr_path: string, from: number): number {
  if (endOfRecords(cdr_path) === from) return 0;
  const written = readFileSync(cdr_path).subarray(from);
  return written.toString("latin1").split("\n").length - 1;
}

export type Carried = {
  /** Calls over a second, once as many go on as may. */
  readonly per_second: number;
  /** From the first leg's beginning to the last one's end, in the middle. */
  readonly call_ms: number;
};

/**
 * What was carried since `from`: throws unless it is `count` calls whose `legs` were all answered. The
 * first `in_flight` begin at once and count for nothing.
 */
export function readCarried(
  cdr_path: string,
  from: number,
  { count, legs, in_flight }: { count: number; legs: number; in_flight: number },
): Carried {
  const rows = parse(readFileSync(cdr_path).subarray(from));
  const calls = new Map<string, { began_s: number; ended_s: number; legs: number }>();
  for (const [channel = "", start, , end, , disposition, , , call] of rows) {
    if (disposition !== "ANSWERED") throw new Error(`a leg was not answered: ${disposition}`);
    const name = call || channel;
    const known = calls.get(name);
    calls.set(name, {
      began_s: Math.min(Number(start), known?.began_s ?? Infinity),
      ended_s: Math.max(Number(end), known?.ended_s ?? 0),
      legs: (known?.legs ?? 0) + 1,
    });
  }
  const all = [...calls.values()];
  const whole = all.filter((call) => call.legs === legs).length;
  if (whole !== count || all.length !== count)
    throw new Error(`${count} calls of ${legs} legs: Asterisk has ${all.length}, ${whole} whole`);
  const ends = all.map(({ ended_s }) => ended_s).toSorted((a, b) => a - b);
  const took = all.map(({ began_s, ended_s }) => ended_s - began_s).toSorted((a, b) => a - b);
  const first = Math.min(in_flight, count - 1) - 1;
  return {
    per_second: (count - 1 - first) / (ends[count - 1]! - ends[first]!),
    call_ms: took[Math.floor(count / 2)]! * 1_000,
  };
}
