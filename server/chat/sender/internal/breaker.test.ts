import assert from "node:assert/strict";
import { test } from "node:test";
import { openBreaker, type Tally } from "./breaker.ts";

/** The counts of a campaign whose delivery statuses arrive at once, or only for some. */
const tally = (ended: number, failed: number, reported = ended) => ({ ended, failed, reported });

/** Returns a breaker whose threshold does not change. */
function openBreakerAt(error_percent: number) {
  const breaker = openBreaker();
  return { checkFailureRate: (of: Tally) => breaker.checkFailureRate(of, error_percent) };
}

test("too few attempts are never validated", () => {
  const breaker = openBreakerAt(20);
  assert.equal(breaker.checkFailureRate(tally(0, 0)), null);
  assert.equal(breaker.checkFailureRate(tally(49, 49)), null);
});

test("the share of failures among the last attempts trips it, not what happened before them", () => {
  const breaker = openBreakerAt(20);
  for (let ended = 0; ended <= 10_000; ended += 100)
    assert.equal(breaker.checkFailureRate(tally(ended, 0)), null);
  assert.equal(breaker.checkFailureRate(tally(10_100, 30)), null);
  assert.equal(breaker.checkFailureRate(tally(10_200, 60)), 30);
});

test("a new breaker ignores earlier failures", () => {
  const breaker = openBreakerAt(50);
  assert.equal(breaker.checkFailureRate(tally(1_000, 1_000)), null);
  assert.equal(breaker.checkFailureRate(tally(1_100, 1_010)), null);
});

test("measures the failures after a retry, which takes its recipients out of the counts", () => {
  const breaker = openBreakerAt(25);
  breaker.checkFailureRate(tally(10_000, 2_000));
  assert.equal(breaker.checkFailureRate(tally(8_000, 0)), null);
  assert.equal(breaker.checkFailureRate(tally(8_049, 49)), null);
  assert.equal(breaker.checkFailureRate(tally(8_050, 50)), 100);
});

test("polls of a campaign that waits are not kept", () => {
  const breaker = openBreakerAt(20);
  let reads = 0;
  const waiting = {
    get ended() {
      reads++;
      return 0;
    },
    failed: 0,
    reported: 0,
  };
  for (let i = 0; i < 1_000; i++) breaker.checkFailureRate(waiting);
  reads = 0;
  breaker.checkFailureRate(tally(200, 0));
  assert.ok(reads < 10, `${reads} reads`);
});

test("failures that are reported while a campaign waits count", () => {
  const breaker = openBreakerAt(20);
  breaker.checkFailureRate(tally(100, 0));
  for (const failed of [5, 10, 10])
    assert.equal(breaker.checkFailureRate(tally(100, failed)), null);
  assert.equal(breaker.checkFailureRate(tally(150, 10)), 20);
});

test("delayed statuses that arrive together do not trip it if few of them report a failure", () => {
  const breaker = openBreakerAt(20);
  for (let ended = 0; ended <= 24_000; ended += 80)
    assert.equal(breaker.checkFailureRate(tally(ended, 0, 0)), null);
  assert.equal(breaker.checkFailureRate(tally(24_080, 120, 12_000)), null);
  assert.equal(breaker.checkFailureRate(tally(24_080, 240, 24_000)), null);
  for (let ended = 24_160; ended <= 25_000; ended += 80)
    assert.equal(breaker.checkFailureRate(tally(ended, 240, ended)), null);
  assert.equal(breaker.checkFailureRate(tally(25_100, 300)), (60 * 100) / 220);
});

test("delayed statuses that arrive together trip it if many of them report a failure", () => {
  const breaker = openBreakerAt(20);
  for (let ended = 0; ended <= 24_000; ended += 80)
    assert.equal(breaker.checkFailureRate(tally(ended, 0, 0)), null);
  assert.equal(breaker.checkFailureRate(tally(24_080, 3_000, 12_000)), 25);
});

test("while delivery statuses are delayed, refusals count as a share of the attempts", () => {
  const breaker = openBreakerAt(20);
  assert.equal(breaker.checkFailureRate(tally(0, 0, 0)), null);
  assert.equal(breaker.checkFailureRate(tally(100, 1, 0)), null);
  assert.equal(breaker.checkFailureRate(tally(200, 40, 0)), 20);
});

test("the share of failures is at most 100 percent", () => {
  const breaker = openBreakerAt(20);
  assert.equal(breaker.checkFailureRate(tally(1_000, 0)), null);
  assert.equal(breaker.checkFailureRate(tally(1_060, 240)), 100);
});
