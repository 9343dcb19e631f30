import assert from "node:assert/strict";
import { test } from "node:test";
import { openPace } from "./pace.ts";

test("a pace says when it has room for the next one, also behind those who wait for their turn", () => {
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

test("a pace lets no more go at once than a fifth of a second's worth, whatever time has passed", () => {
  let now_ms = 0;
  const pace = openPace(20, () => now_ms);
  now_ms = 60_000;
  assert.equal(pace.room(), 4);
  pace.stop();
});
