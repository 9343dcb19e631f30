import assert from "node:assert/strict";
import { test } from "node:test";
import { decideAfterAttempt } from "./decide-after-attempt.ts";

const now = new Date("2026-11-24T12:00:00Z");

/** Returns for how many seconds a throttled endpoint is paused. */
function pauseAfter(retry_after: string | null): number {
  const answer = { status: 429, retry_after };
  const { resume_at } = decideAfterAttempt({ attempts: 0, answer, failing_since: null }, now, 0);
  return (resume_at!.getTime() - now.getTime()) / 1_000;
}

test("a Retry-After of whole seconds or an HTTP date pauses the endpoint, at most for a day", () => {
  assert.equal(pauseAfter("120"), 120);
  assert.equal(pauseAfter("Tue, 24 Nov 2026 12:01:30 GMT"), 90);
  assert.equal(pauseAfter("Tue Nov 24 12:01:30 2026"), 90);
  assert.equal(pauseAfter("Tuesday, 24-Nov-26 12:01:30 GMT"), 90);
  assert.equal(pauseAfter("999999999"), 86_400);
});

test("a Retry-After in any other form counts as none, also where Date.parse finds a date in it", () => {
  for (const text of ["45.5", "1.5", "12.5", "+45", "45,5", "60;", "try 40", "2026-11-25", ""])
    assert.equal(pauseAfter(text), pauseAfter(null), text);
});
