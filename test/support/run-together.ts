// Runs several test files in this process, one after another.
import { before, describe } from "node:test";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { enterTestFile } from "./record-statements.ts";

const root = join(import.meta.dirname, "../..");

/**
 * Makes a suite of each test file, named after its path in the repository, in which its hooks and tests stand: hooks
 * of one file do not run for another. All files are loaded first.
 */
export function runTogether(files: readonly string[]): void {
  for (const file of files)
    describe(file, { timeout: 600_000 }, async () => {
      before(() => enterTestFile(file));
      await import(pathToFileURL(join(root, file)).href);
    });
}
