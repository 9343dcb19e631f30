import assert from "node:assert/strict";
import { test } from "node:test";
import { openBreaker } from "./breaker.ts";

test("too few attempts are never validated", () => {
  const breaker = openBreaker(20);
  assert.equal(breaker.checkFailureRate({ ended: 0, failed: 0 }), null);
  assert.equal(breaker.checkFailureRate({ ended: 49, failed: 49 }), null);
});

test("the share of failures among the last attempts trips it, not what happened before them", () => {
  const breaker = openBreaker(20);
  for (let ended = 0; ended <= 10_000; ended += 100)
    assert.equal(breaker.checkFailureRate({ ended, failed: 0 }), null);
  assert.equal(breaker.checkFailureRate({ ended: 10_100, failed: 30 }), null);
  assert.equal(breaker.checkFailureRate({ ended: 10_200, failed: 60 }), 30);
});

test("a new breaker ignores earlier failures", () => {
  const breaker = openBreaker(50);
  assert.equal(breaker.checkFailureRate({ ended: 1_000, failed: 1_000 }), null);
  assert.equal(breaker.checkFailureRate({ ended: 1_100, failed: 1_010 }), null);
});

test("measures the failures after a retry, which takes its recipients out of the counts", () => {
  const breaker = openBreaker(25);
  breaker.checkFailureRate({ ended: 10_000, failed: 2_000 });
  assert.equal(breaker.checkFailureRate({ ended: 8_000, failed: 0 }), null);
  assert.equal(breaker.checkFailureRate({ ended: 8_049, failed: 49 }), null);
  assert.equal(breaker.checkFailureRate({ ended: 8_050, failed: 50 }), 100);
});

test("polls of a campaign that waits are not kept", () => {
  const breaker = openBreaker(20);
  let reads = 0;
  const waiting = {
    get ended() {
      reads++;
      return 0;
    },
    failed: 0,
  };
  for (let i = 0; i < 1_000; i++) breaker.checkFailureRate(waiting);
  reads = 0;
  breaker.checkFailureRate({ ended: 200, failed: 0 });
  assert.ok(reads < 10, `${reads} reads`);
});

test("failures that are reported while a campaign waits count", () => {
  const breaker = openBreaker(20);
  breaker.checkFailureRate({ ended: 100, failed: 0 });
  for (const failed of [5, 10, 10])
    assert.equal(breaker.checkFailureRate({ ended: 100, failed }), null);
  assert.equal(breaker.checkFailureRate({ ended: 150, failed: 10 }), 20);
});
