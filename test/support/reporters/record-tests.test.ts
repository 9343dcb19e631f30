import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test, type TestContext } from "node:test";
import { recordFile, type TestRecord } from "./test-record.ts";

const root = join(import.meta.dirname, "../../..");

function scratch(t: TestContext): string {
  mkdirSync(join(root, ".cache"), { recursive: true });
  const dir = mkdtempSync(join(root, ".cache/reporter-"));
  t.after(() => {
    rmSync(dir, { recursive: true });
    rmSync(join(root, ".cache/tests-ran", relative(root, dir)), { recursive: true, force: true });
  });
  return dir;
}

/** Runs node:test with the reporter, independently of the current run. */
function runTests(pattern: string): number | null {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const reporter = "--test-reporter=./test/support/reporters/record-tests.ts";
  return spawnSync(process.execPath, ["--test", reporter, pattern], { cwd: root, env }).status;
}

function run(t: TestContext, source: string): { status: number | null; records: TestRecord[] } {
  const file = relative(root, join(scratch(t), "sample.test.ts"));
  writeFileSync(join(root, file), source);
  const status = runTests(file);
  const lines = readFileSync(recordFile(root, file), "utf8").split("\n").filter(Boolean);
  return { status, records: lines.map((line) => JSON.parse(line) as TestRecord) };
}

test("every test is recorded with its suites and its result", (t) => {
  const { status, records } = run(
    t,
    `import { describe, test } from "node:test";
    describe("outer", () => describe("inner", () => {
      test("passes", async (t) => { await t.test("step", () => {}); });
      test("fails", () => { throw new Error("x"); });
    }));
    test("passes", () => {});
    test("left out", { skip: true }, () => {});`,
  );
  assert.equal(status, 1);
  assert.deepEqual(records.map(({ name, outcome }) => `${outcome}: ${name}`).toSorted(), [
    "failed: outer › inner › fails",
    "passed: outer › inner › passes",
    "passed: outer › inner › passes › step",
    "passed: passes",
    "skipped: left out",
  ]);
});

test("a run without tests fails", (t) => {
  assert.equal(runTests(join(scratch(t), "*.test.ts")), 1);
});
