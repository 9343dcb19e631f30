import assert from "node:assert/strict";
import { test } from "node:test";
import { coveringFiles, type RecordedRun } from "./recorded-runs.ts";

const run = (cpu_ms: number, ...texts: readonly string[]): RecordedRun => ({
  cpu_ms,
  statements: texts.map((text) => ({ source: "server/a.ts", text })),
});

test("the covering files issue every statement, and none is needed only for what the others issue", () => {
  const runs = new Map([
    ["all-but-one.test.ts", run(1_000, "a", "b", "c")],
    ["same.test.ts", run(1_000, "a", "b")],
    ["slow.test.ts", run(100_000, "c", "d")],
    ["last.test.ts", run(1_000, "d")],
  ]);
  assert.deepEqual(coveringFiles(runs), ["all-but-one.test.ts", "last.test.ts"]);
  assert.deepEqual(coveringFiles(new Map()), []);
});
