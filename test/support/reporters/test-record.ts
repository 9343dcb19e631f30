import { join } from "node:path";

/** The recorded result of one test. */
export type TestRecord = {
  /** The titles of suites and test, outermost first, joined by ` › `. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped" | "todo";
};

/** Returns the path of the records of a test file's last run; `testFile` is relative to the repository. */
export function recordFile(root: string, testFile: string): string {
  return join(root, ".cache/tests-ran", `${testFile}.jsonl`);
}

/** Where scripts/run-test-groups.ts writes test files that run others, each in a suite named after its path. */
export const groups_folder = ".cache/test-groups";
