import assert from "node:assert/strict";
import { test } from "node:test";
import { callValue, voiceValue } from "../../../test/support/call-values.ts";
import type { Call, Leg } from "./call.ts";
import { addLeg, patchLeg } from "./legs.ts";
import type { Menu } from "./menu.ts";
import { resumeCommands } from "./resume.ts";
import { initial_position } from "./transitions/voice-position.ts";

const at = new Date("2026-11-02T10:00:00Z");
const later = new Date("2026-11-02T10:00:01Z");

type Party = Pick<Leg, "role" | "state"> & { readonly answered_at?: Date };

/** A call at a stage, with these legs in order. */
function callWith(stage: Call["stage"], parties: readonly Party[], more: Partial<Call> = {}): Call {
  return parties.reduce<Call>(
    (call, { role, ...state }, i) => {
      const leg = { role, number: `10${i}`, on_trunk: false };
      return patchLeg(addLeg(call, leg, at), i + 1, state);
    },
    callValue({ stage, ...more }),
  );
}

test("bridges the two parties again, and hangs up an agent who answered second", () => {
  const call = callWith("talking", [
    { role: "agent", state: "answered", answered_at: later },
    { role: "agent", state: "answered", answered_at: at },
    { role: "customer", state: "answered", answered_at: later },
  ]);
  assert.deepEqual(resumeCommands(call), [
    { type: "bridge", legs: [2, 3] },
    { type: "hang_up", leg: 1 },
  ]);
});

test("bridges the customer with the extension after a transfer, and hangs up the agent", () => {
  const call = callWith(
    "talking",
    [
      { role: "agent", state: "answered", answered_at: at },
      { role: "customer", state: "answered", answered_at: at },
      { role: "transfer", state: "answered", answered_at: later },
    ],
    { recording_state: "recording" },
  );
  assert.deepEqual(resumeCommands(call), [
    { type: "bridge", legs: [3, 2] },
    { type: "record" },
    { type: "hang_up", leg: 1 },
  ]);
});

test("bridges the customer with the last extension after two transfers, and hangs up the one before", () => {
  const parties: readonly Party[] = [
    { role: "agent", state: "ended", answered_at: at },
    { role: "customer", state: "answered", answered_at: at },
    { role: "transfer", state: "answered", answered_at: at },
    { role: "transfer", state: "answered", answered_at: later },
  ];
  const commands = [
    { type: "bridge", legs: [4, 2] },
    { type: "hang_up", leg: 3 },
  ];
  assert.deepEqual(resumeCommands(callWith("talking", parties)), commands);
  const third = { role: "transfer", state: "ringing" } as const;
  assert.deepEqual(resumeCommands(callWith("talking", [...parties, third])), commands);
});

test("plays ringback to a customer after the agent's transfer", () => {
  const call = callWith("talking", [
    { role: "agent", state: "ended", answered_at: at },
    { role: "customer", state: "answered", answered_at: at },
    { role: "transfer", state: "ringing" },
  ]);
  assert.deepEqual(resumeCommands(call), [{ type: "ringback", leg: 2 }]);
});

test("plays ringback to the agent while the customer rings, and hangs up the other agents", () => {
  const call = callWith("customer", [
    { role: "agent", state: "answered", answered_at: at },
    { role: "agent", state: "ringing" },
    { role: "customer", state: "ringing" },
  ]);
  assert.deepEqual(resumeCommands(call), [
    { type: "hang_up", leg: 2 },
    { type: "ringback", leg: 1 },
  ]);
});

test("does not change ringing agents, and hangs up the legs of a call that is ending", () => {
  assert.deepEqual(resumeCommands(callWith("agent", [{ role: "agent", state: "ringing" }])), []);
  assert.deepEqual(resumeCommands(callWith("ending", [{ role: "customer", state: "answered" }])), [
    { type: "hang_up", leg: 1 },
  ]);
});

const recording_menu: Menu = {
  start: "note",
  nodes: {
    note: {
      type: "record",
      prompt: { say: "Speak", language: "en" },
      max_seconds: 60,
      silence_seconds: 5,
      next: "bye",
    },
    bye: { type: "hang_up", prompt: null },
  },
};
const recording_call = voiceValue({
  content: { call_type: "obd_ivr", menu: recording_menu },
});

test("records a message again, whose end may have been missed", () => {
  const call = callWith("talking", [{ role: "customer", state: "answered", answered_at: at }], {
    voice: recording_call,
    position: { ...initial_position, node: "note", visit: 2, doing: "recording" },
  });
  assert.deepEqual(resumeCommands(call), [
    { type: "record_message", leg: 1, visit: 2, limits: { max_seconds: 60, silence_seconds: 5 } },
    { type: "wait", visit: 2, ms: 75_000 },
  ]);
});

test("ends the message that a caller recorded until a transfer before it bridges the caller again", () => {
  const parties = [
    { role: "customer", state: "answered", answered_at: at },
    { role: "transfer", state: "answered", answered_at: later },
  ] as const;
  const call = callWith("talking", parties, {
    voice: recording_call,
    position: { ...initial_position, node: "note", visit: 3, doing: "bridged" },
  });
  assert.deepEqual(resumeCommands(call), [
    { type: "stop_message", visit: 2 },
    { type: "bridge", legs: [2, 1] },
  ]);
});

test("asks an agent who has not accepted yet again, and pauses again before another ring", () => {
  const asked = callWith("agent", [{ role: "agent", state: "accepting", answered_at: at }]);
  assert.deepEqual(resumeCommands(asked), [{ type: "ask_to_accept", leg: 1 }]);
  const rung = callWith("agent", [{ role: "agent", state: "ended", outcome: "busy" } as Party]);
  const { click_to_call } = callValue({ click_to_call: { policy_applied: "retry_agent" } });
  assert.deepEqual(resumeCommands({ ...rung, click_to_call }), [
    { type: "wait", visit: 1, ms: 5_000 },
  ]);
  assert.deepEqual(resumeCommands(rung), []);
});
