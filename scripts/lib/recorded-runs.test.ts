import assert from "node:assert/strict";
import { test } from "node:test";
import { coveringFiles, type RecordedRun } from "./recorded-runs.ts";

const run = (cpu_ms: number, ...sources: readonly string[]): RecordedRun => ({
  cpu_ms,
  statements: sources.map((source) => ({ source, text: "select 1" })),
});

test("the covering files issue the SQL of every file, and none is needed only for what others issue", () => {
  const runs = new Map([
    ["anyway.test.ts", run(9_000, "a", "e")],
    ["most.test.ts", run(1_000, "a", "b", "c")],
    ["only-anyway.test.ts", run(1, "a", "e")],
    ["same.test.ts", run(1_000, "a", "b")],
    ["slow.test.ts", run(100_000, "c", "d")],
    ["last.test.ts", run(1_000, "d")],
  ]);
  const runsAnyway = (file: string) => file === "anyway.test.ts";
  assert.deepEqual(coveringFiles(runs, runsAnyway), ["last.test.ts", "most.test.ts"]);
  assert.deepEqual(coveringFiles(new Map(), runsAnyway), []);
});
