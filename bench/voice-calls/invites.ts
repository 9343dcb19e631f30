// Measures the pacing by the start times of legs in Asterisk's CDR.
import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";

export type Paced = {
  /** The rate of the legs after those that may start at once. */
  readonly per_second: number;
  /** The maximum in any one second. */
  readonly most: number;
  /** Legs that were not answered. */
  readonly unanswered: number;
};

/** Reads the legs since `from`, of which the first `at_once` may start at once; throws unless they are `count`. */
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
