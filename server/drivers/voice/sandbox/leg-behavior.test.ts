import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { behaviorOf, type LegBehavior } from "./leg-behavior.ts";

const talks = { since: "bridge", after_ms: 5_000 } as const;

function answers(more: Partial<Extract<LegBehavior, { kind: "answers" }>> = {}): LegBehavior {
  return {
    kind: "answers",
    rings_ms: 200,
    answers_ms: 700,
    hang_up: null,
    presses: [],
    answered_by: "human",
    patience_ms: 5_000,
    ...more,
  };
}

function fails(outcome: string, cause: number, sip_status: number, rings = false) {
  return {
    kind: "fails",
    rings_ms: rings ? 200 : null,
    fails_ms: rings ? 1_500 : 500,
    ending: { outcome, cause, sip_status, by: "far_end" },
  };
}

/** The same for agents and customers. */
const failures = {
  "404": fails("unallocated", 1, 404),
  "480": { kind: "rings", rings_ms: 200 },
  "484": fails("invalid", 28, 484),
  "486": fails("busy", 17, 486),
  "503": fails("congestion", 34, 503),
  "603": fails("declined", 21, 603, true),
};

const unregistered = {
  kind: "refused",
  ending: { outcome: "unreachable", cause: 20, sip_status: null, by: "far_end" },
};

test("each code has its behavior, for agents and for customers", () => {
  const press = (digit: string, after_ms = 1_000) => ({ digit, after_ms });
  const table = {
    "020": [unregistered, unregistered],
    "101": [
      answers({ presses: [press("*"), press("1", 1_250)] }),
      answers({ presses: [press("*"), press("1", 1_250)], hang_up: talks }),
    ],
    "205": [
      answers({ answered_by: "machine" }),
      answers({ answered_by: "machine", hang_up: talks }),
    ],
    "209": [answers({ presses: [press("9")] }), answers({ presses: [press("9")], hang_up: talks })],
    "701": [answers({ presses: [press("1")] }), answers({ presses: [press("1")], hang_up: talks })],
    "900": [answers({ patience_ms: null }), answers({ patience_ms: null })],
    "901": [
      answers({ hang_up: { since: "answer", after_ms: 500 } }),
      answers({ hang_up: { since: "answer", after_ms: 500 } }),
    ],
    "902": [
      answers({ hang_up: { since: "bridge", after_ms: 2_000 } }),
      answers({ hang_up: { since: "bridge", after_ms: 2_000 } }),
    ],
    ...Object.fromEntries(
      Object.entries(failures).map(([code, behavior]) => [code, [behavior, behavior]]),
    ),
  };
  for (const [code, [agent, customer]] of Object.entries(table)) {
    assert.deepEqual(behaviorOf(`777${code}`, "agent"), agent, code);
    assert.deepEqual(behaviorOf(`+91 98765 777${code}`, "customer"), customer, code);
  }
});

test("any other number answers: an agent stays, a customer hangs up after five seconds of talk", () => {
  for (const number of ["101", "7101", "48600", "919812345678", "7774861", "919777000777"]) {
    assert.deepEqual(behaviorOf(number, "agent"), answers(), number);
    assert.deepEqual(behaviorOf(number, "customer"), answers({ hang_up: talks }), number);
  }
});

test("a three-digit extension that is a SIP status fails with that status", () => {
  for (const [extension, behavior] of Object.entries(failures))
    assert.deepEqual(behaviorOf(extension, "agent"), behavior, extension);
});

test("the last six digits select the behavior, whatever characters precede or separate them", () => {
  fc.assert(
    fc.property(
      fc.stringMatching(/^[+*#0-9 ]{0,10}$/),
      fc.constantFrom(...Object.keys(failures), "101", "900"),
      fc.constantFrom("agent" as const, "customer" as const),
      (before, code, role) => {
        assert.deepEqual(behaviorOf(`${before}777${code}`, role), behaviorOf(`777${code}`, role));
        assert.deepEqual(behaviorOf(`${before}777 ${code}`, role), behaviorOf(`777${code}`, role));
      },
    ),
  );
});
