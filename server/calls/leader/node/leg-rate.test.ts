import assert from "node:assert/strict";
import { test } from "node:test";
import { openLegRate } from "./leg-rate.ts";

test("reports when the next leg may begin, counting the legs that already wait", () => {
  let now_ms = 0;
  const rate = openLegRate(20, () => now_ms);
  assert.deepEqual([rate.room(), rate.nextInMs()], [0, 50]);
  now_ms = 25;
  assert.deepEqual([rate.room(), rate.nextInMs()], [0, 25]);
  now_ms = 50;
  assert.deepEqual([rate.room(), rate.nextInMs()], [1, 0]);
  void rate.acquire(false);
  void rate.acquire(true);
  assert.deepEqual([rate.room(), rate.nextInMs()], [0, 100]);
  rate.stop();
});

test("admits at most a fifth of a second's legs at once, however long it was idle", () => {
  let now_ms = 0;
  const rate = openLegRate(20, () => now_ms);
  now_ms = 60_000;
  assert.equal(rate.room(), 4);
  rate.stop();
});
