import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { decideAction, errorName } from "./error-actions.ts";

const onCode = (code: number, attempt = 1) =>
  decideAction(
    new ChatSendError("rejected", "no", { code }),
    { error: errorName(code), attempts: attempt - 1 },
    0.5,
  );
const fresh = { error: null, attempts: 0 };

// The table of error classes. Source: WhatsApp Cloud API.
const final: readonly [string, readonly number[]][] = [
  ["undeliverable", [131026, 131062, 137000]],
  ["opted_out", [131050]],
  ["same_number", [131021]],
  ["not_allowed_recipient", [131030]],
  ["experiment_group", [130472]],
  ["invalid_parameter", [132000, 132005, 132008, 132012, 131008, 131009, 100, 131051]],
  ["outside_window", [131047]],
];
for (const [word, codes] of final) {
  test(`${codes.join(", ")} fail the recipient permanently: ${word}`, () => {
    for (const code of codes) {
      const action = onCode(code);
      assert.deepEqual([action.state, action.error, errorName(code)], ["refused", word, word]);
      assert.equal(action.suppress, code === 131050 ? true : undefined);
      assert.equal(action.hold, undefined);
    }
  });
}

test("retryable errors are retried with growing delays and a maximum number of attempts", () => {
  for (const code of [1, 2, 131000, 131016, 135000]) {
    const waits = [1, 2, 3, 4, 5, 6, 7].map((attempt) => onCode(code, attempt));
    assert.ok(waits.every(({ state }) => state === "deferred"));
    for (const [i, { after_ms }] of waits.entries())
      if (i > 0) assert.ok(after_ms > waits[i - 1]!.after_ms);
    assert.equal(onCode(code, 8).state, "refused");
  }
});

test("a pair limit delays only this recipient, by a growing delay of at least 6 s", () => {
  const [first, second] = [onCode(131056, 1), onCode(131056, 2)];
  assert.ok(first.after_ms >= 6_000 && second.after_ms > first.after_ms);
  assert.deepEqual([first.state, first.slow_ms, first.hold], ["deferred", undefined, undefined]);
});

test("a frequency cap defers by a day and fails on the third day", () => {
  assert.deepEqual([onCode(131049).state, onCode(131049).after_ms], ["deferred", 86_400_000]);
  assert.equal(onCode(131049, 2).state, "deferred");
  assert.deepEqual(
    [onCode(131049, 3).state, onCode(131049, 3).error],
    ["refused", "frequency_capped"],
  );
});

test("errors of the number, account or template set a hold and defer the recipient", () => {
  const holds: readonly [readonly number[], string, string][] = [
    [[131048, 131064, 131045, 131037, 131057], "number", "sender_restricted"],
    [[190, 0, 3, 10, 200, 250, 299, 131005, 368, 131031, 131042], "account", "auth"],
    [[132015], "template", "template_paused"],
  ];
  for (const [codes, scope, reason] of holds) {
    for (const code of codes) {
      const action = onCode(code);
      assert.deepEqual([action.state, action.hold], ["deferred", { scope, reason }], String(code));
    }
  }
});

test("a missing or unusable template fails the campaign", () => {
  for (const code of [132001, 132007, 132016]) {
    assert.deepEqual([onCode(code).state, onCode(code).fail_campaign], ["refused", true]);
  }
});

test("failed media is retried once, and the marketing route is tried once", () => {
  assert.deepEqual([onCode(131053).state, onCode(131053, 2).state], ["deferred", "refused"]);
  assert.deepEqual([onCode(131063).state, onCode(131063).marketing_route], ["deferred", true]);
  assert.equal(onCode(131063, 2).state, "refused");
});

test("a throttled number pauses for the time the provider names, or about a second", () => {
  const specified = decideAction(
    new ChatSendError("throttled", "", { retry_after_ms: 7_000 }),
    fresh,
    0.5,
  );
  assert.deepEqual(
    [specified.state, specified.slow_ms, specified.after_ms],
    ["deferred", 7_000, 7_000],
  );
  const unspecified = decideAction(new ChatSendError("throttled", ""), fresh, 0.5);
  assert.ok(unspecified.slow_ms! >= 1_000 && unspecified.slow_ms! <= 2_000);
});

test("an unreachable provider is retried without limit with growing delays; an unknown outcome is never retried", () => {
  const unreachable = (attempt: number) =>
    decideAction(
      new ChatSendError("unreachable", ""),
      { error: "unreachable", attempts: attempt - 1 },
      0.5,
    );
  assert.ok(unreachable(2).slow_ms! > unreachable(1).slow_ms!);
  assert.deepEqual(
    [unreachable(1_000).state, unreachable(1_000).slow_ms! <= 60_000],
    ["deferred", true],
  );
  assert.equal(decideAction(new ChatSendError("unknown", ""), fresh, 0.5).state, "unknown");
});

test("an unknown code is final, because a retry could send twice", () => {
  assert.deepEqual([onCode(999_999).state, onCode(999_999).error], ["refused", "provider_error"]);
  assert.equal(errorName(null), "provider_error");
});

test("attempts are counted separately for each error", () => {
  const throttledOften = { error: "throttled", attempts: 20 };
  for (const code of [131000, 131056, 131049]) {
    const failure = new ChatSendError("rejected", "no", { code });
    assert.equal(decideAction(failure, throttledOften, 0.5).state, "deferred");
  }
});
