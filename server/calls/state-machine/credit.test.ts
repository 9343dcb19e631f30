import assert from "node:assert/strict";
import { test } from "node:test";
import { callValue } from "../../../test/support/call-values.ts";
import { runTransition } from "../../../test/support/run-transition.ts";
import type { Call, Line } from "./call.ts";
import { nextUnreservedPulse } from "./credit.ts";
import type { CallEvent, Request } from "./events-and-commands.ts";
import { addLeg, patchLeg } from "./legs.ts";
import { answerRequest, transition } from "./transition.ts";

const noon = new Date("2026-03-01T12:00:00Z").getTime();
const at = (seconds: number) => new Date(noon + seconds * 1_000);
const line: Line = {
  customer: { kind: "trunk", endpoint: "carrier", number: "919876543210" },
  caller_id: "8000000001",
};
const agent = {
  number: "205",
  target: { kind: "extension", endpoint: "205", number: "205" },
} as const;

/** A call whose parties talk since noon, with one pulse of each reserved. */
function talking(more: Parameters<typeof callValue>[0] = {}): Call {
  const call = callValue({ stage: "talking", initiated_at: at(-20), answered_at: at(0), ...more });
  const legs = [
    { role: "agent", number: "101", on_trunk: false },
    { role: "customer", number: call.to_phone, on_trunk: true },
  ] as const;
  return legs.reduce<Call>(
    (now, leg, i) =>
      patchLeg(addLeg(now, leg, at(-20)), i + 1, { state: "answered", answered_at: at(0) }),
    call,
  );
}

function next(call: Call, event: CallEvent) {
  const found = transition(call, line, event);
  assert.ok(found, `${event.type} changes nothing`);
  return found;
}

/** The request for the pulse that begins at `due_at`. */
function requestFor(call: Call, due_at: Date): Request {
  const { request } = next(call, { type: "pulse_due", due_at, at: at(55) });
  assert.ok(request);
  return request;
}

/** A call that has just called these agents at noon. */
function callingAgents(numbers: readonly string[], accepts: boolean): Call {
  const accept_audio = accepts ? { name: "accept", duration_ms: 1_000 } : null;
  const call = callValue({ stage: "agent", initiated_at: at(0), settings: { accept_audio } });
  return numbers.reduce<Call>(
    (now, number) => addLeg(now, { role: "agent", number, on_trunk: true }, at(0)),
    call,
  );
}

test("requests credit for every pulse that begins when the reserved ones are used up", () => {
  const call = talking();
  assert.deepEqual(nextUnreservedPulse(call), at(60));
  const purpose = { type: "pulse", due_at: at(60) } as const;
  assert.deepEqual(requestFor(call, at(60)), { type: "reserve_credit", amount: 2, purpose });
  const event = { type: "credit_reserved", amount: 2, purpose, at: at(55) } as const;
  const paid = next(call, event).call;
  assert.equal(paid.reserved, 4);
  assert.deepEqual(nextUnreservedPulse(paid), at(120));
  assert.equal(transition(paid, line, { type: "pulse_due", due_at: at(60), at: at(56) }), null);
});

test("finds the next pulse of a call of ten hours, whose legs were answered at different times, in a few steps", () => {
  const call = talking({ settings: { pulse_seconds: 1 } });
  const answered = patchLeg(call, 2, { answered_at: at(9 * 3_600 + 0.5) });
  let steps = 0;
  const paid = Object.defineProperty({ ...answered }, "reserved", {
    get: () => {
      steps += 1;
      return 36_000 + 3_600;
    },
  });
  assert.deepEqual(nextUnreservedPulse(paid), at(36_000));
  assert.ok(steps < 50, `${steps} steps`);
});

test("the next pulse is the first boundary at which more pulses have begun than are reserved", () => {
  for (const [reserved, expected_s] of [
    [1, 0],
    [2, 60],
    [3, 77],
    [4, 120],
    [5, 137],
    [11, 317],
  ] as const) {
    const call = patchLeg(talking({ reserved }), 2, { answered_at: at(17) });
    assert.deepEqual(nextUnreservedPulse(call), at(expected_s), `${reserved} reserved`);
  }
});

test("stores nothing for a reservation, which is stored when the credit is reserved", () => {
  const call = talking();
  const purpose = { type: "pulse", due_at: at(60) } as const;
  const asked = next(call, { type: "pulse_due", due_at: at(60), at: at(55) });
  for (const answer of [
    { type: "credit_reserved", amount: 2, purpose, at: at(55) },
    { type: "credit_refused", purpose, at: at(55) },
  ] as const) {
    const answered = answerRequest(asked, line, answer);
    assert.equal(answered.call.steps, call.steps);
    assert.deepEqual([answered.events, answered.commands], [[], []]);
  }
  assert.equal(next(call, { type: "digit", leg: 2, digit: "1", at: at(5) }).call.steps, 1);
});

test("records that a pulse was refused until the next event of the call", () => {
  const purpose = { type: "pulse", due_at: at(60) } as const;
  const refused = next(talking(), { type: "credit_refused", purpose, at: at(55) }).call;
  assert.deepEqual(refused.unpaid_at, at(60));
  const later = next(refused, { type: "digit", leg: 2, digit: "1", at: at(57) }).call;
  assert.equal(later.unpaid_at, null);
});

test("needs no credit before a leg is answered, nor once the call is ending", () => {
  assert.equal(nextUnreservedPulse(callValue()), null);
  const hangup = { type: "hangup", reason: "credit", at: at(60) } as const;
  assert.equal(nextUnreservedPulse(next(talking(), hangup).call), null);
});

test("reserves nothing for agents who are no longer called, because another one has answered", () => {
  const call = callingAgents(["101", "102", "103", "104", "105", "106"], false);
  const { call: answered } = next(call, { type: "answered", leg: 1, at: at(9) });
  assert.deepEqual(nextUnreservedPulse(answered), at(69));
  const { call: talked } = next(answered, { type: "answered", leg: 7, at: at(15) });
  assert.deepEqual(nextUnreservedPulse(talked), at(69));
  // This one answered before the switch could hang up: its pulse is paid.
  const { call: late } = next(answered, { type: "answered", leg: 2, at: at(10) });
  const purpose = { type: "pulse", due_at: at(9) } as const;
  assert.deepEqual(requestFor(late, at(9)), { type: "reserve_credit", amount: 1, purpose });
});

test("reserves one pulse for all agents who ring while another is asked to accept", () => {
  const call = callingAgents(["9999000001", "9999000002", "9999000003"], true);
  const { call: asked } = next(call, { type: "answered", leg: 1, at: at(9) });
  assert.deepEqual(nextUnreservedPulse(asked), at(69));
  const { call: both } = next(asked, { type: "answered", leg: 2, at: at(10) });
  const purpose = { type: "pulse", due_at: at(9) } as const;
  assert.deepEqual(requestFor(both, at(9)), { type: "reserve_credit", amount: 1, purpose });
});

test("reserves a transfer's leg before it is dialed, and dials nothing without credit", () => {
  const call = talking();
  const event = { type: "transfer_requested", by: "api", to: agent, at: at(20) } as const;
  const asked = next(call, event);
  const purpose = { type: "transfer", by: "api", to: agent } as const;
  assert.deepEqual(asked, {
    call,
    events: [],
    commands: [],
    request: { type: "reserve_credit", amount: 1, purpose },
  });
  const dialed = runTransition(call, line, event)!;
  assert.equal(dialed.call.reserved, 3);
  assert.deepEqual(
    dialed.commands.map(({ type }) => type),
    ["dial"],
  );
  assert.deepEqual(runTransition(call, line, event, false), { call, events: [], commands: [] });
});

test("publishes the end of a call without a retry when credit for the retry is insufficient", () => {
  const call = callValue({ click_to_call: { max_retry: 1 } });
  const placed = next(call, { type: "placed", blocker: null, at: at(0) });
  const event = { type: "agents_chosen", agents: [], at: at(1) } as const;
  const asked = next(placed.call, event);
  assert.deepEqual(asked.request, { type: "queue_retry", due_at: at(301) });
  assert.deepEqual([asked.call.stage, asked.events], ["ending", []]);
  const retryOf = (isGranted: boolean) => {
    const { call: over, events, request } = runTransition(placed.call, line, event, isGranted)!;
    assert.deepEqual([over.stage, request], ["ended", undefined]);
    const retry_at = over.retry_at?.toISOString() ?? null;
    assert.deepEqual(
      events.map(({ type, data }) => [type, (data as { retry_at?: string }).retry_at]),
      [["call.completed", retry_at]],
    );
    return over.retry_at;
  };
  assert.deepEqual(retryOf(true), at(301));
  assert.equal(retryOf(false), null);
});
