// How the pace was held: when Asterisk began its legs, by its own records.
import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";

export type Paced = {
  /** Until the last one, once those are out that may go at once. */
  readonly per_second: number;
  /** The most in any one second. */
  readonly most: number;
  /** Legs that nobody answered. */
  readonly unanswered: number;
};

/** The legs since `from`, of which the first `at_once` may go at once; throws unless they are `count`. */
export function readInvites(
  cdr_path: string,
  from: number,
  { count, at_once }: { count: number; at_once: number },
): Paced {
  const rows = parse(readFileSync(cdr_path).subarray(from));
  if (rows.length !== count) throw new Error(`${rows.length} calls were placed, not ${count}`);
  const starts = rows.map(([, start]) => Number(start)).toSorted((a, b) => a - b);
  let most = 0;
  for (let first = 0, last = 0; last < starts.length; last++) {
    while (starts[last]! - starts[first]! >= 1) first++;
    most = Math.max(most, last - first + 1);
  }
  return {
    per_second: (count - 1 - at_once) / (starts[count - 1]! - starts[at_once]!),
    most,
    unanswered: rows.filter((row) => row[5] !== "ANSWERED").length,
  };
}
