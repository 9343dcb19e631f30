import assert from "node:assert/strict";
import { test } from "node:test";
import { openSharedReads } from "./shared-reads.ts";

test("concurrent callers share one read, later ones its result or error until it is stale", async (t) => {
  let now_ms = 0;
  t.mock.method(performance, "now", () => now_ms);
  let reads = 0;
  const first = Promise.withResolvers<number>();
  const answers = [() => first.promise, () => Promise.reject(new Error("away")), async () => 3];
  const read = openSharedReads(1_000, () => answers[reads++]!());
  const [here, there] = [{}, {}];
  const both = Promise.all([read(here), read(here)]);
  now_ms = 60_000;
  first.resolve(1);
  assert.deepEqual(await both, [1, 1]);
  now_ms += 999;
  assert.deepEqual([await read(here), reads], [1, 1]);
  now_ms += 1;
  await assert.rejects(read(here), /away/);
  await assert.rejects(read(here), /away/);
  assert.equal(reads, 2);
  assert.deepEqual([await read(there), reads], [3, 3], "another key has reads of its own");
});
