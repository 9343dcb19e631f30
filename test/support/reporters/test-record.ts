import { join } from "node:path";

/** How one test ended, as a run wrote it down. */
export type TestRecord = {
  /** Suites and test, outermost first, joined by ` › `. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped" | "todo";
};

/** Where the last run of a test file (its path from the root of the repository) left its records. */
export function recordFile(root: string, testFile: string): string {
  return join(root, ".cache/tests-ran", `${testFile}.jsonl`);
}
