import assert from "node:assert/strict";
import { test } from "node:test";
import { openPace } from "./pace.ts";

test("reports when the next leg may begin, counting the legs that already wait", () => {
  let now_ms = 0;
  const pace = openPace(20, () => now_ms);
  assert.deepEqual([pace.room(), pace.roomIn_ms()], [0, 50]);
  now_ms = 25;
  assert.deepEqual([pace.room(), pace.roomIn_ms()], [0, 25]);
  now_ms = 50;
  assert.deepEqual([pace.room(), pace.roomIn_ms()], [1, 0]);
  void pace.acquire(false);
  void pace.acquire(true);
  assert.deepEqual([pace.room(), pace.roomIn_ms()], [0, 100]);
  pace.stop();
});

test("admits at most a fifth of a second's legs at once, however long it was idle", () => {
  let now_ms = 0;
  const pace = openPace(20, () => now_ms);
  now_ms = 60_000;
  assert.equal(pace.room(), 4);
  pace.stop();
});
