import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { decideAction, decideReportedAction, errorName } from "./error-actions.ts";

const onCode = (code: number, attempt = 1) =>
  decideAction(
    new ChatSendError("rejected", "no", { code }),
    { error: errorName(code), attempts: attempt - 1 },
    0.5,
  );
const fresh = { error: null, attempts: 0 };

// The table of error classes. Source: WhatsApp Cloud API.
const final: readonly [string, readonly number[]][] = [
  ["undeliverable", [131026, 131062, 137000, 130497]],
  ["opted_out", [131050]],
  ["same_number", [131021]],
  ["not_allowed_recipient", [131030]],
  ["experiment_group", [130472]],
  ["invalid_parameter", [132000, 132005, 132008, 132012, 131008, 131009, 100, 131051, 135000]],
  ["outside_window", [131047]],
  ["provider_error", [134102]],
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
  for (const code of [1, 2, 131000, 131016, 133004]) {
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

test("errors of the number, business account or template hold just that and defer the recipient", () => {
  const auth = [190, 0, 3, 10, 200, 250, 299, 131005];
  const holds: readonly [readonly number[], string, string][] = [
    [[33, 131037, 131045, 131048, 131064, 133006, 133010], "number", "sender_restricted"],
    [[368, 131031, 131042], "business_account", "sender_restricted"],
    [auth, "business_account", "auth"],
    [[132015], "template", "template_paused"],
  ];
  for (const [codes, scope, reason] of holds) {
    for (const code of codes) {
      const action = onCode(code);
      assert.deepEqual([action.state, action.hold], ["deferred", { scope, reason }], String(code));
    }
  }
});

test("a throughput upgrade holds the number for about a minute and retries", () => {
  const { state, hold, after_ms } = onCode(131057);
  assert.deepEqual([state, hold?.scope, hold?.reason], ["deferred", "number", "throttled"]);
  assert.ok(hold!.for_ms! >= 60_000 && hold!.for_ms! <= 90_000);
  assert.equal(after_ms, hold!.for_ms);
  assert.equal(onCode(131057, 100).state, "deferred");
});

test("a long pause that the provider names is a hold of the number, a short one is not", () => {
  const throttled = (retry_after_ms: number) =>
    decideAction(new ChatSendError("throttled", "", { retry_after_ms }), fresh, 0.5);
  assert.deepEqual(throttled(3_600_000).hold, {
    scope: "number",
    reason: "throttled",
    for_ms: 3_600_000,
  });
  assert.equal(throttled(3_600_000).after_ms, 3_600_000);
  assert.equal(throttled(30_000).hold, undefined);
});

test("the circuit breaker ignores failures for a reason of the recipient, and only those", () => {
  const recipient_side = [131026, 131062, 137000, 130497, 131050, 131021, 130472, 131047];
  for (const code of recipient_side) assert.equal(onCode(code).recipient_side, true, String(code));
  for (const code of [131049, 131056]) assert.equal(onCode(code, 8).recipient_side, true);
  for (const code of [100, 135000, 131030, 131053, 132000, 132001, 999_999])
    assert.equal(onCode(code, 8).recipient_side, undefined, String(code));
});

test("a reported failure is retried only if nothing can have been delivered", () => {
  const reported = (code: number | null) => decideReportedAction(code, fresh, 0.5);
  for (const code of [130429, 131049, 131056, 131057, 131042, 131048, 368, 133010, 132015, 131063])
    assert.equal(reported(code).state, "deferred", String(code));
  for (const code of [1, 2, 131000, 131016, 131026, 131053, 190, 999_999, null])
    assert.equal(reported(code).state, "refused", String(code));
  assert.deepEqual(reported(190).hold, { scope: "business_account", reason: "auth" });
});

test("a reported failure uses up the same attempts as a refused request", () => {
  const third = decideReportedAction(131049, { error: "frequency_capped", attempts: 2 }, 0.5);
  assert.deepEqual([third.state, third.error], ["refused", "frequency_capped"]);
});

test("a missing or unusable template fails the campaign", () => {
  for (const code of [132001, 132007, 132016]) {
    assert.deepEqual([onCode(code).state, onCode(code).fail_campaign], ["refused", true]);
  }
});

test("failed media is retried once, and the marketing route is tried once", () => {
  assert.deepEqual([onCode(131053).state, onCode(131053, 2).state], ["deferred", "refused"]);
  const required = onCode(131063);
  assert.deepEqual(
    [required.state, required.marketing_route, required.refresh_templates],
    ["deferred", true, true],
  );
  assert.equal(onCode(131063, 2).state, "refused");
});

test("an invalid parameter on the marketing route is retried three times after ten minutes, for a template that is not ready", () => {
  const onRoute = (route: "marketing" | "standard", attempts: number) => {
    const before = { error: "template_not_ready", attempts };
    return decideAction(new ChatSendError("rejected", "no", { code: 131009 }), before, 0.5, route);
  };
  for (const attempts of [0, 1, 2]) {
    const { state, error, after_ms } = onRoute("marketing", attempts);
    assert.deepEqual([state, error], ["deferred", "template_not_ready"]);
    assert.ok(after_ms >= 600_000 && after_ms <= 660_000);
  }
  for (const action of [onRoute("marketing", 3), onRoute("standard", 0)])
    assert.deepEqual([action.state, action.error], ["refused", "invalid_parameter"]);
});

test("a template that the marketing route still prepares is retried three times after ten minutes", () => {
  for (const attempt of [1, 2, 3]) {
    const { state, error, after_ms, refresh_templates } = onCode(134101, attempt);
    assert.deepEqual(
      [state, error, refresh_templates],
      ["deferred", "template_not_ready", undefined],
    );
    assert.ok(after_ms >= 600_000 && after_ms <= 660_000);
  }
  assert.deepEqual([onCode(134101, 4).state, errorName(134101)], ["refused", "template_not_ready"]);
});

test("a template that is not marketing is retried three times on the marketing route, with its category refreshed", () => {
  for (const code of [131055, 134100]) {
    for (const attempt of [1, 2, 3]) {
      const { state, after_ms, refresh_templates } = onCode(code, attempt);
      assert.deepEqual([state, refresh_templates], ["deferred", true]);
      assert.ok(after_ms >= 600_000 && after_ms <= 660_000);
    }
    assert.deepEqual(
      [onCode(code, 4).state, onCode(code, 4).error],
      ["refused", "template_not_marketing"],
    );
  }
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
