import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { leg_outcomes, type Ending, type LegOutcome } from "../driver.ts";
import { classifyEnding, type EndedLeg } from "./classify-ending.ts";

const nothing: EndedLeg = {
  cause: null,
  tech_cause: null,
  answered: false,
  request: "none",
  we_hung_up: false,
  silent_ms: null,
};

/** SIP refusals, with the cause that Asterisk derives from each. */
const refusals: readonly (readonly [sip_status: number, cause: number, LegOutcome])[] = [
  [486, 17, "busy"],
  [600, 17, "busy"],
  [603, 21, "declined"],
  [607, 127, "declined"],
  [480, 19, "no_answer"],
  [408, 18, "no_answer"],
  [404, 1, "unallocated"],
  [410, 22, "unallocated"],
  [604, 1, "unallocated"],
  [484, 28, "invalid"],
  [503, 34, "congestion"],
  [500, 38, "failed"],
  [502, 27, "failed"],
  [488, 58, "failed"],
  [401, 21, "failed"],
];

for (const [sip_status, cause, outcome] of refusals) {
  test(`SIP ${sip_status} from the far end is ${outcome}`, () => {
    const end = { ...nothing, cause, tech_cause: sip_status, request: "far_end" as const };
    const expected: Ending = { outcome, cause, sip_status, by: "far_end" };
    assert.deepEqual(classifyEnding({ ...end, silent_ms: 300 }), expected);
    // Also if this session's own hangup request comes too late.
    assert.deepEqual(classifyEnding({ ...end, we_hung_up: true }), expected);
  });
}

test("SIP 403 is failed before any ringing, because the carrier refuses the account, and declined after it", () => {
  const end = { ...nothing, cause: 21, tech_cause: 403, request: "far_end" as const };
  assert.equal(classifyEnding({ ...end, silent_ms: 300 }).outcome, "failed");
  assert.equal(classifyEnding({ ...end, silent_ms: null }).outcome, "declined");
});

const ring_timeout: EndedLeg = { ...nothing, cause: 19, tech_cause: 480 };

const cases: Readonly<Record<string, readonly [EndedLeg, Ending]>> = {
  "a ring time-out results in no_answer, without a SIP status": [
    ring_timeout,
    { outcome: "no_answer", cause: 19, sip_status: null, by: "far_end" },
  ],
  "a carrier that sent no response until the ring time-out is unreachable": [
    { ...ring_timeout, silent_ms: 3_000 },
    { outcome: "unreachable", cause: 19, sip_status: null, by: "far_end" },
  ],
  "a carrier that sent no response until the SIP time-out is unreachable": [
    { ...nothing, cause: 18, tech_cause: 408, request: "far_end", silent_ms: 32_001 },
    { outcome: "unreachable", cause: 18, sip_status: 408, by: "far_end" },
  ],
  "a hangup by this session before the answer results in canceled": [
    { ...nothing, cause: 16, request: "us", we_hung_up: true, silent_ms: 20 },
    { outcome: "canceled", cause: 16, sip_status: null, by: "us" },
  ],
  "a hangup by an earlier session before the answer results in canceled": [
    { ...nothing, cause: 16, request: "us" },
    { outcome: "canceled", cause: 16, sip_status: null, by: "us" },
  ],
  "a hangup by this session results in canceled even without a hangup request event": [
    { ...nothing, cause: 16, we_hung_up: true },
    { outcome: "canceled", cause: 16, sip_status: null, by: "us" },
  ],
  "a hangup by this session of an answered leg results in hung_up by us": [
    { ...nothing, cause: 16, answered: true, request: "us", we_hung_up: true },
    { outcome: "hung_up", cause: 16, sip_status: null, by: "us" },
  ],
  "a hangup by the far end without a cause is normal clearing (16)": [
    { ...nothing, cause: 0, answered: true, request: "far_end" },
    { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" },
  ],
  "a hangup by the far end just before this session's results in hung_up by the far end": [
    { ...nothing, cause: 16, answered: true, request: "far_end", we_hung_up: true },
    { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" },
  ],
};

for (const [title, [end, ending]] of Object.entries(cases)) {
  test(title, () => assert.deepEqual(classifyEnding(end), ending));
}

const ends: fc.Arbitrary<EndedLeg> = fc.record({
  cause: fc.option(fc.integer({ min: 0, max: 255 })),
  tech_cause: fc.option(fc.integer({ min: 300, max: 699 })),
  answered: fc.boolean(),
  request: fc.constantFrom("none", "far_end", "us"),
  we_hung_up: fc.boolean(),
  silent_ms: fc.option(fc.nat(120_000)),
});

test("every combination has a known outcome, which is hung_up exactly for answered legs", () => {
  fc.assert(
    fc.property(ends, (end) => {
      const { outcome, cause, by } = classifyEnding(end);
      assert.ok(leg_outcomes.includes(outcome));
      assert.equal(outcome === "hung_up", end.answered);
      assert.notEqual(cause, 0);
      if (outcome === "canceled") assert.equal(by, "us");
      if (by === "us") assert.ok(end.request === "us" || end.we_hung_up);
    }),
  );
});
