// Reads Asterisk's CDR, the same measure for every contender.
import { readFileSync, statSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { until } from "../lib/until.ts";

/** Returns the current end of the records. */
export function endOfRecords(cdr_path: string): number {
  return statSync(cdr_path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Waits for `count` legs since `from`: Asterisk writes a record shortly after it reported the leg's end. */
export function awaitRecords(cdr_path: string, from: number, count: number): Promise<void> {
  return until(`${count} legs are recorded`, () =>
    Promise.resolve(countRecords(cdr_path, from) >= count),
  );
}

function countRecords(cdr_path: string, from: number): number {
  if (endOfRecords(cdr_path) === from) return 0;
  const written = readFileSync(cdr_path).subarray(from);
  return written.toString("latin1").split("\n").length - 1;
}

export type Carried = {
  /** Calls ended per second, once the maximum of concurrent calls is reached. */
  readonly per_second: number;
  /** The median time from the start of the first leg to the end of the last. */
  readonly call_ms: number;
};

/**
 * Returns the figures of the calls since `from`; throws unless they are `count` calls with `legs` answered
 * legs each. The first `in_flight` calls start at once and are not counted.
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
    throw new Error(
      `${count} calls of ${legs} legs: Asterisk recorded ${all.length}, ${whole} complete`,
    );
  const ends = all.map(({ ended_s }) => ended_s).toSorted((a, b) => a - b);
  const took = all.map(({ began_s, ended_s }) => ended_s - began_s).toSorted((a, b) => a - b);
  const first = Math.min(in_flight, count - 1) - 1;
  return {
    per_second: (count - 1 - first) / (ends[count - 1]! - ends[first]!),
    call_ms: took[Math.floor(count / 2)]! * 1_000,
  };
}
