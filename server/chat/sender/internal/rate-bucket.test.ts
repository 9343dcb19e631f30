import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openRateBucket } from "./rate-bucket.ts";

test("whatever is asked and when, no second gives more than the rate and one portion of 50 ms", () => {
  const step = fc.record({
    wait_ms: fc.double({ min: 0, max: 400, noNaN: true }),
    want: fc.nat(200),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.array(step, { maxLength: 60 }),
      (rate, steps) => {
        let now_ms = 1_000;
        const bucket = openRateBucket(rate, () => now_ms);
        const given: { at: number; count: number }[] = [];
        for (const { wait_ms, want } of steps) {
          now_ms += wait_ms;
          const count = Math.min(want, bucket.available());
          bucket.spend(count);
          given.push({ at: now_ms, count });
        }
        for (const { at } of given) {
          const within = given.filter((one) => one.at >= at && one.at < at + 1_000);
          const sum = within.reduce((total, { count }) => total + count, 0);
          assert.ok(sum <= rate + Math.max(1, rate * 0.05) + 1e-6, `${sum} at a rate of ${rate}`);
        }
      },
    ),
  );
});

test("who asks whenever a portion is full gets the whole rate", () => {
  for (const rate of [1, 3, 80, 1_000]) {
    let now_ms = 0;
    const bucket = openRateBucket(rate, () => now_ms);
    let sent = 0;
    while (now_ms < 20_000) {
      now_ms += Math.max(0.01, bucket.fullInMs());
      const count = bucket.available();
      bucket.spend(count);
      sent += count;
    }
    assert.ok(Math.abs(sent - rate * 20) <= Math.max(1, rate * 0.05) + 1, `${sent} at ${rate}`);
  }
});

test("a new holder starts with nothing gathered, and a pause lets nothing through until it is over", () => {
  let now_ms = 0;
  const bucket = openRateBucket(1_000, () => now_ms);
  assert.equal(bucket.available(), 0);
  now_ms = 50;
  assert.equal(bucket.available(), 50);
  bucket.pause(300);
  now_ms = 349;
  assert.equal(bucket.available(), 0);
  now_ms = 360;
  assert.equal(bucket.available(), 10);
});
