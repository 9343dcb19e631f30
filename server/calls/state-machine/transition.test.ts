import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { callValue } from "../../../test/support/call-values.ts";
import { runTransition } from "../../../test/support/run-transition.ts";
import { leg_outcomes, type Ending, type LegOutcome } from "../../drivers/voice/driver.ts";
import type { EventData } from "../../engine/event-catalogue.ts";
import { stages, type Agent, type Call, type Line } from "./call.ts";
import type { CallBlocker } from "./call-blocker.ts";
import type { CallEvent, Command, HangUpReason, Request } from "./events-and-commands.ts";
import { pulsesOf } from "./transitions/end-call.ts";
import { liveLegs } from "./legs.ts";
import type { OutboxEvent } from "./transitions/outbox-event.ts";
import { loseCall, transition } from "./transition.ts";

const noon = new Date("2026-03-01T12:00:00Z").getTime();
const at = (seconds: number) => new Date(noon + seconds * 1_000);

const line: Line = {
  customer: { kind: "trunk", endpoint: "carrier", number: "919876543210" },
  caller_id: "8000000001",
};

const agent = (number: string): Agent => ({
  number,
  target: { kind: "extension", endpoint: number, number },
});

/** A call with the events and commands of its transitions so far. */
type Run = { call: Call; readonly commands: (Command | Request)[]; readonly events: OutboxEvent[] };

/** An event without its time. */
type Untimed<Event = CallEvent> = Event extends CallEvent ? Omit<Event, "at"> : never;

/** Handles an event; returns whether it changed anything. */
function take(run: Run, event: Untimed, seconds = 0): boolean {
  const next = runTransition(run.call, line, { ...event, at: at(seconds) });
  if (!next) return false;
  run.call = next.call;
  run.commands.push(...next.commands);
  if (next.request) run.commands.push(next.request);
  run.events.push(...next.events);
  return true;
}

const ending = (outcome: LegOutcome, more: Partial<Ending> = {}): Ending => ({
  outcome,
  cause: null,
  sip_status: null,
  by: "far_end",
  ...more,
});
const ended = (leg: number, outcome: LegOutcome) =>
  ({ type: "ended", leg, ending: ending(outcome) }) as const;
const answered = (leg: number) => ({ type: "answered", leg }) as const;
const ringing = (leg: number) => ({ type: "ringing", leg }) as const;
const choose = (...numbers: string[]) =>
  ({ type: "agents_chosen", agents: numbers.map(agent) }) as const;

function open(more: Parameters<typeof callValue>[0] = {}): Run {
  return { call: callValue(more), commands: [], events: [] };
}

/** A placed call whose agent is called on leg 1. */
function placed(more: Parameters<typeof callValue>[0] = {}): Run {
  const run = open(more);
  take(run, { type: "placed", blocker: null });
  take(run, choose("101"));
  return run;
}

/** A call whose agent has answered and whose customer is called on leg 2. */
function calling(more: Parameters<typeof callValue>[0] = {}): Run {
  const run = placed(more);
  take(run, answered(1), 2);
  return run;
}

/** A call whose parties talk since 12:00:10. */
function talking(more: Parameters<typeof callValue>[0] = {}): Run {
  const run = calling(more);
  take(run, ringing(2), 4);
  take(run, answered(2), 10);
  return run;
}

/** Returns the outcome as `status disposition ended_reason ended_by`. */
function result({ call }: Run): string {
  assert.equal(call.stage, "ended");
  return [call.status, call.disposition, call.ended_reason, call.ended_by].join(" ");
}

const done = (run: Run) =>
  run.commands.map((command) =>
    "leg" in command ? `${command.type} ${command.leg}` : command.type,
  );
const eventTypes = (run: Run) => run.events.map(({ type }) => type);

test("events name the agent as the call record does: as sent", () => {
  const from = (run: Run) => run.events.map(({ data }) => data.from_number);
  const sent = { from_number: "+91 98765 00001" };
  assert.deepEqual(from(placed({ from_number: "919876500001", click_to_call: sent })), [
    "+91 98765 00001",
  ]);
  assert.deepEqual(from(placed({ from_number: "8000000001" })), ["8000000001"]);
});

test("calls the agent, then the customer, bridges and records them, and bills by the pulse", () => {
  const run = talking();
  take(run, ended(2, "hung_up"), 100);
  take(run, ended(1, "hung_up"), 101);
  assert.equal(run.call.stage, "ending", "the recording is awaited");
  take(run, { type: "recorded", ok: true }, 102);
  assert.equal(result(run), "completed answered hung_up customer");
  assert.deepEqual(done(run), [
    "choose_agents",
    "dial 1",
    "ringback 1",
    "dial 2",
    "stop_ringback 1",
    "bridge",
    "record",
    "hang_up 1",
    "end_bridge",
  ]);
  assert.deepEqual(eventTypes(run), [
    "call.initiated",
    "call.answered",
    "call.ringing",
    "call.answered",
    "call.bridged",
    "call.recording.ready",
    "call.completed",
  ]);
  const { ring_seconds, talk_seconds, billed_seconds, cost, ended_at, recording_state } = run.call;
  assert.deepEqual(
    { ring_seconds, talk_seconds, billed_seconds, cost, ended_at, recording_state },
    // 99 s of the agent and 90 of the customer: two pulses each.
    {
      ring_seconds: 6,
      talk_seconds: 90,
      billed_seconds: 240,
      cost: 4,
      ended_at: at(101),
      recording_state: "ready",
    },
  );
});

test("the customer's phone rings from the ringing that the switch reports to the answer or the end of its leg", () => {
  const ringSeconds = (outcome: LegOutcome, rang_at: number | null) => {
    const run = calling();
    if (rang_at !== null) take(run, ringing(2), rang_at);
    take(run, ended(2, outcome), 40);
    take(run, ended(1, "hung_up"), 50);
    assert.equal(run.call.stage, "ended");
    return run.call.ring_seconds;
  };
  assert.equal(ringSeconds("no_answer", 12), 28);
  assert.equal(ringSeconds("unreachable", null), 0);
});

test("dials the agent with the customer's number as caller ID, then the customer with the line's", () => {
  const dials = calling().commands.filter((command) => command.type === "dial");
  assert.deepEqual(dials, [
    {
      type: "dial",
      leg: 1,
      to: agent("101").target,
      caller_id: "9876543210",
      ring_seconds: 30,
    },
    { type: "dial", leg: 2, to: line.customer, caller_id: "8000000001", ring_seconds: 45 },
  ]);
});

const blockers: readonly CallBlocker[] = [
  "suppressed",
  "already_in_call",
  "night_window",
  "calls_per_customer_day",
];
for (const blocker of blockers) {
  test(`cancels a call blocked as ${blocker}, uncharged, without calling anyone`, () => {
    const run = open({ click_to_call: { max_retry: 3 } });
    take(run, { type: "placed", blocker });
    assert.equal(result(run), `canceled canceled ${blocker} system`);
    assert.deepEqual(run.commands, []);
    assert.equal(run.call.cost, 0);
    assert.equal(run.call.initiated_at, null);
    assert.equal(run.call.retry_at, null);
    assert.deepEqual(eventTypes(run), ["call.completed"]);
  });
}

/** The outcome of a call whose agent's leg ended unanswered, and whether it is retried. */
const of_agent: Record<Exclude<LegOutcome, "hung_up" | "unplaced">, [string, boolean]> = {
  busy: ["busy busy agent_busy agent", true],
  no_answer: ["no-answer no_answer agent_no_answer system", true],
  declined: ["busy declined agent_declined agent", false],
  unallocated: ["failed unallocated agent_unallocated system", false],
  invalid: ["failed invalid agent_invalid system", false],
  congestion: ["failed congestion agent_congestion system", true],
  unreachable: ["failed unreachable agent_unreachable system", true],
  failed: ["failed failed agent_failed system", true],
  canceled: ["canceled canceled agent_canceled system", false],
  lost: ["failed lost node_lost system", false],
};
for (const [outcome, [expected, again]] of Object.entries(of_agent)) {
  test(`an agent's ${outcome} ends the call as ${expected}${again ? ", with a retry" : ""}`, () => {
    const run = placed({ click_to_call: { max_retry: 1, retry_after_minutes: 7 } });
    take(run, ringing(1), 1);
    const end = ending(outcome as LegOutcome, { cause: 17, sip_status: 486 });
    take(run, { type: "ended", leg: 1, ending: end }, 5);
    assert.equal(result(run), expected);
    assert.equal(run.call.hangup_cause, 17);
    assert.equal(run.call.sip_status, 486);
    assert.equal(run.call.cost, 0);
    assert.deepEqual(run.call.retry_at, again ? at(5 + 7 * 60) : null);
  });
}

test("a customer's leg that never reached the switch ends the call undialed, with a retry", () => {
  const run = calling({ click_to_call: { max_retry: 1, retry_after_minutes: 7 } });
  take(run, { ...ended(2, "canceled"), blocker: "node_unavailable" }, 5);
  assert.deepEqual([run.call.stage, done(run).at(-1)], ["ending", "hang_up 1"]);
  const lost = loseCall(run.call, at(6))!;
  assert.equal(lost.call.ended_reason, "node_lost", "after a restore, without a retry");
  take(run, ended(1, "hung_up"), 6);
  assert.equal(result(run), "canceled canceled node_unavailable system");
  assert.deepEqual([run.call.cost, run.call.retry_at], [1, at(6 + 7 * 60)]);
});

/** The same for the customer's leg, after the agent has answered. */
const of_customer: typeof of_agent = {
  busy: ["busy busy customer_busy customer", true],
  no_answer: ["no-answer no_answer customer_no_answer system", true],
  declined: ["busy declined customer_declined customer", false],
  unallocated: ["failed unallocated customer_unallocated system", false],
  invalid: ["failed invalid customer_invalid system", false],
  congestion: ["failed congestion customer_congestion system", true],
  unreachable: ["failed unreachable customer_unreachable system", true],
  failed: ["failed failed customer_failed system", true],
  canceled: ["canceled canceled customer_canceled system", false],
  lost: ["failed lost node_lost system", false],
};
for (const [outcome, [expected, again]] of Object.entries(of_customer)) {
  test(`a customer's ${outcome} ends the call as ${expected}${again ? ", with a retry" : ""}`, () => {
    const run = calling({ click_to_call: { max_retry: 1, retry_after_minutes: 7 } });
    const end = ending(outcome as LegOutcome, { cause: 17, sip_status: 486 });
    take(run, { type: "ended", leg: 2, ending: end }, 5);
    assert.equal(run.call.stage, "ending");
    assert.equal(done(run).at(-1), "hang_up 1");
    take(run, ended(1, "hung_up"), 6);
    assert.equal(result(run), expected);
    assert.equal(run.call.hangup_cause, 17);
    assert.equal(run.call.cost, 1, "the agent answered");
    assert.deepEqual(run.call.retry_at, again ? at(6 + 7 * 60) : null);
  });
}

test("ends a call without a retry when the agent hangs up before the customer answers", () => {
  const run = calling({ click_to_call: { max_retry: 3 } });
  take(run, ended(1, "hung_up"), 5);
  assert.equal(done(run).at(-1), "hang_up 2");
  take(run, ended(2, "canceled"), 6);
  assert.equal(result(run), "canceled canceled agent_hung_up agent");
  assert.equal(run.call.retry_at, null);
});

test("ends a call as lost when the switch disappears while the customer rings, whichever leg is missed first", () => {
  for (const first of [1, 2]) {
    const run = calling({});
    take(run, ended(first, "lost"), 5);
    take(run, ended(3 - first, "lost"), 5);
    assert.equal(result(run), "failed lost node_lost system");
  }
});

test("attributes the end of a conversation to the party that hung up, or to the lost switch", () => {
  const by = (leg: number, outcome: LegOutcome) => {
    const run = talking({ settings: { recorded: false } });
    take(run, ended(leg, outcome), 30);
    take(run, ended(3 - leg, "hung_up"), 31);
    return result(run);
  };
  assert.equal(by(1, "hung_up"), "completed answered hung_up agent");
  assert.equal(by(2, "hung_up"), "completed answered hung_up customer");
  assert.equal(by(1, "lost"), "completed answered node_lost system");
  assert.equal(by(2, "lost"), "completed answered node_lost system");
});

test("ends a call once at any stage by an API hangup or for lack of credit", () => {
  const hangup = (run: Run, reason: HangUpReason) => {
    assert.ok(take(run, { type: "hangup", reason }, 20));
    assert.ok(!take(run, { type: "hangup", reason: "credit" }, 20));
    for (const { id } of liveLegs(run.call)) {
      assert.ok(done(run).includes(`hang_up ${id}`));
      take(run, ended(id, "canceled"), 21);
    }
    take(run, { type: "recorded", ok: true }, 22);
    return result(run);
  };
  const click_to_call = { max_retry: 3 };
  assert.equal(
    hangup(placed({ click_to_call }), "hung_up_by_api"),
    "canceled canceled hung_up_by_api api",
  );
  assert.equal(
    hangup(calling({ click_to_call }), "hung_up_by_api"),
    "canceled canceled hung_up_by_api api",
  );
  assert.equal(
    hangup(talking({ click_to_call }), "hung_up_by_api"),
    "completed answered hung_up_by_api api",
  );
  assert.equal(hangup(calling({ click_to_call }), "credit"), "canceled canceled credit system");
  assert.equal(hangup(talking({ click_to_call }), "credit"), "completed answered credit system");
  assert.equal(
    hangup(talking({ click_to_call }), "too_long"),
    "completed answered too_long system",
  );
});

test("ends a call as no-answer, with a retry, when no agent is free", () => {
  const run = open({ click_to_call: { max_retry: 1 } });
  take(run, { type: "placed", blocker: null });
  take(run, { type: "agents_chosen", agents: [] }, 1);
  assert.equal(result(run), "no-answer no_answer no_free_agent system");
  assert.notEqual(run.call.retry_at, null);
});

test("requests further agents after one did not answer, until none is left", () => {
  const run = placed({ click_to_call: { policy_applied: "next_in_group" } });
  take(run, ended(1, "no_answer"), 30);
  assert.equal(done(run).at(-1), "choose_agents");
  take(run, choose("102"), 30);
  assert.equal(done(run).at(-1), "dial 2");
  take(run, ended(2, "busy"), 31);
  take(run, { type: "agents_chosen", agents: [] }, 31);
  assert.equal(result(run), "busy busy agent_busy agent");
});

test("retry_agent rings a busy agent again after 5, 10 and 20 seconds, then ends the call", () => {
  const run = placed({ click_to_call: { policy_applied: "retry_agent" } });
  const pauses: number[] = [];
  for (let leg = 1; leg <= 3; leg++) {
    take(run, ended(leg, "busy"), leg);
    const pause = run.commands.at(-1)!;
    assert.ok(pause.type === "wait", "the agent is not rung at once");
    pauses.push(pause.ms);
    assert.ok(!take(run, { type: "timeout", visit: leg - 1 }, leg), "a timer of an earlier pause");
    take(run, { type: "timeout", visit: leg }, leg);
    assert.equal(done(run).at(-1), "choose_agents");
    take(run, choose("101"), leg);
  }
  assert.deepEqual(pauses, [5_000, 10_000, 20_000]);
  take(run, ended(4, "busy"), 9);
  assert.equal(result(run), "busy busy agent_busy agent");
});

test("retry_agent does not ring again an agent who declined, or in the attempts of max_retry", () => {
  const click_to_call = { policy_applied: "retry_agent" } as const;
  const declined = placed({ click_to_call });
  take(declined, ended(1, "declined"), 1);
  assert.equal(result(declined), "busy declined agent_declined agent");
  const second = placed({ click_to_call, attempt: 2 });
  take(second, ended(1, "busy"), 1);
  assert.equal(result(second), "busy busy agent_busy agent");
});

test("a hang-up during the pause before another ring ends the call without a leg", () => {
  const run = placed({ click_to_call: { policy_applied: "retry_agent" } });
  take(run, ended(1, "busy"), 1);
  take(run, { type: "hangup", reason: "hung_up_by_api" }, 2);
  assert.equal(result(run), "canceled canceled hung_up_by_api api");
  assert.ok(!take(run, { type: "timeout", visit: 1 }, 6));
});

const accept_audio = { name: "accept", duration_ms: 1_000 };
const onPhone = (...numbers: string[]) => ({
  type: "agents_chosen" as const,
  agents: numbers.map((number): Agent => ({ number, target: { ...line.customer, number } })),
});
const key = (leg: number, pressed: string) => ({ type: "digit", leg, digit: pressed }) as const;

/** A call that asks agents on phones to accept, with a backup group; the first has answered on leg 1. */
function asking(...numbers: string[]): Run {
  const run = open({ click_to_call: { policy_applied: "ring_all" }, settings: { accept_audio } });
  take(run, { type: "placed", blocker: null });
  take(run, onPhone(...numbers));
  take(run, answered(1), 1);
  return run;
}

test("calls the customer only once an agent outside the switch has pressed 1", () => {
  const run = asking("919811111111");
  assert.deepEqual(done(run).slice(-2), ["dial 1", "ask_to_accept 1"]);
  take(run, key(1, "5"), 2);
  assert.equal(run.call.stage, "agent");
  take(run, key(1, "1"), 3);
  assert.deepEqual(done(run).slice(-3), ["stop_playing 1", "ringback 1", "dial 2"]);
  const stopped = { type: "played", leg: 1, playback: "trk-1-2-a1", ok: true } as const;
  assert.ok(!take(run, stopped, 3), "the stopped prompt is ignored");
});

test("a voicemail that answers for an agent never counts as one: it is hung up, billed, and the next is rung", () => {
  const run = asking("919811111111");
  take(run, { type: "played", leg: 1, playback: "trk-1-2-a1", ok: true }, 20);
  assert.equal(done(run).at(-1), "hang_up 1");
  take(run, ended(1, "hung_up"), 21);
  assert.equal(done(run).at(-1), "choose_agents");
  take(run, { type: "agents_chosen", agents: [] }, 21);
  assert.equal(result(run), "no-answer no_answer agent_no_answer system");
  assert.equal(run.call.cost, 1);
});

test("an agent's phone that is lost before it accepts is shown as not answered, and its call as lost", () => {
  for (const policy_applied of ["hangup", "retry_agent"] as const) {
    const run = asking("919811111111");
    run.call = {
      ...run.call,
      click_to_call: { ...run.call.click_to_call, policy_applied, agent_retry_count: 3 },
    };
    take(run, ended(1, "lost"), 10);
    assert.equal(run.call.legs[0]!.status, "no-answer");
    assert.equal(result(run), "failed lost node_lost system");
    assert.equal(run.call.cost, 1);
  }
  const accepted = asking("919811111111");
  take(accepted, key(1, "1"), 3);
  take(accepted, ended(1, "lost"), 10);
  assert.equal(accepted.call.legs[0]!.status, "failed");
});

test("of several agents who are asked to accept, the first to press 1 takes the call", () => {
  const run = asking("919811111111", "919822222222");
  take(run, answered(2), 2);
  take(run, key(2, "1"), 3);
  assert.deepEqual(done(run).slice(-4), ["stop_playing 2", "hang_up 1", "ringback 2", "dial 3"]);
  take(run, answered(3), 5);
  const bridge = run.commands.find((command) => command.type === "bridge");
  assert.deepEqual(bridge?.type === "bridge" && bridge.legs, [2, 3]);
});

test("an agent at an extension is not asked to accept", () => {
  const run = placed({ settings: { accept_audio } });
  take(run, answered(1), 1);
  assert.equal(done(run).at(-1), "dial 2");
});

test("an agent who presses 1 too late for the calling window reaches no customer", () => {
  const run = asking("919811111111");
  take(run, { ...key(1, "1"), blocker: "night_window" }, 3);
  assert.ok(!done(run).includes("dial 2"));
  take(run, ended(1, "hung_up"), 4);
  assert.equal(result(run), "canceled canceled night_window system");
});

test("gives the call to the first of several ringing agents to answer, and hangs up the others", () => {
  const run = placed({
    click_to_call: { policy_applied: "ring_all" },
    settings: { recorded: false },
  });
  take(run, ended(1, "no_answer"), 30);
  take(run, choose("102", "103", "104"), 30);
  assert.deepEqual(done(run).slice(-3), ["dial 2", "dial 3", "dial 4"]);
  take(run, ended(4, "busy"), 31);
  assert.equal(run.call.stage, "agent");
  take(run, answered(3), 32);
  assert.deepEqual(done(run).slice(-3), ["hang_up 2", "ringback 3", "dial 5"]);
  // The other agent answered before the hangup reached the switch.
  take(run, answered(2), 32);
  assert.equal(done(run).at(-1), "hang_up 2");
  take(run, ended(2, "hung_up"), 33);
  assert.equal(run.call.stage, "customer");
  take(run, answered(5), 40);
  assert.deepEqual(run.commands.at(-1), { type: "bridge", legs: [3, 5] });
  take(run, ended(5, "hung_up"), 50);
  take(run, ended(3, "hung_up"), 50);
  assert.equal(result(run), "completed answered hung_up customer");
  assert.equal(run.call.cost, 3, "each leg that was answered");
});

test("does not bridge an agent who answers after another agent", () => {
  const run = placed({ click_to_call: { policy_applied: "ring_all" } });
  take(run, ended(1, "no_answer"), 30);
  take(run, choose("102", "103", "104"), 30);
  take(run, answered(3), 32);
  take(run, answered(2), 33);
  take(run, answered(5), 34);
  const bridge = run.commands.find((command) => command.type === "bridge");
  assert.deepEqual(bridge, { type: "bridge", legs: [3, 5] });
});

test("dials an unplaced leg again: the agent's by a new choice, the customer's at once", () => {
  const run = placed();
  take(run, ended(1, "unplaced"), 1);
  assert.deepEqual(run.commands.at(-1), { type: "choose_agents", again: "101" });
  take(run, choose("101"), 1);
  take(run, answered(2), 3);
  assert.equal(done(run).at(-1), "dial 3");
  take(run, ended(3, "unplaced"), 4);
  assert.equal(done(run).at(-1), "dial 4");
  assert.equal(run.call.stage, "customer");
});

test("publishes every key press, and stores the customer's", () => {
  const run = talking();
  for (const digit of ["1", "#"]) take(run, { type: "digit", leg: 2, digit }, 20);
  take(run, { type: "digit", leg: 1, digit: "5" }, 21);
  assert.equal(run.call.dtmf, "1#");
  const keys = run.events
    .filter(({ type }) => type === "call.dtmf")
    .map(({ data }) => data as EventData<"call.dtmf">);
  assert.deepEqual(
    keys.map(({ leg, digit }) => [leg, digit]),
    [
      ["customer", "1"],
      ["customer", "#"],
      ["agent", "5"],
    ],
  );
});

test("transfers the call to the extension of a key: * and the key from the agent, the key alone from the customer", () => {
  const click_to_call = { extension_for_transfer: "5", extension_for_dis: "7" };
  const asks = (leg: number, ...digits: string[]) => {
    const run = talking({ click_to_call });
    for (const digit of digits) take(run, { type: "digit", leg, digit }, 20);
    return run.commands.filter((command) => command.type === "find_extension");
  };
  assert.deepEqual(asks(1, "*", "5"), [{ type: "find_extension", digit: "5", by: "agent" }]);
  assert.deepEqual(asks(2, "7"), [{ type: "find_extension", digit: "7", by: "customer" }]);
  for (const [leg, digits] of [
    [1, ["5"]],
    [1, ["*", "4", "5"]],
    [1, ["7"]],
    [2, ["5"]],
    [2, ["*", "5"]],
  ] as const)
    assert.deepEqual(asks(leg, ...digits), []);
  const early = calling({ click_to_call });
  take(early, { type: "digit", leg: 1, digit: "*" }, 3);
  take(early, { type: "digit", leg: 1, digit: "5" }, 3);
  assert.ok(!done(early).includes("find_extension"), "the call is not talking yet");
});

test("lets an extension that answers a transfer take the agent's place", () => {
  const run = talking({ settings: { recorded: false } });
  take(run, { type: "transfer_requested", by: "agent", to: agent("205") }, 20);
  assert.equal(done(run).at(-1), "dial 3");
  assert.ok(
    !take(run, { type: "transfer_requested", by: "api", to: agent("206") }, 21),
    "one at a time",
  );
  take(run, answered(3), 25);
  assert.deepEqual(run.commands.slice(-3), [
    { type: "stop_ringback", leg: 2 },
    { type: "bridge", legs: [2, 3] },
    { type: "hang_up", leg: 1 },
  ]);
  take(run, ended(1, "hung_up"), 26);
  assert.equal(run.call.stage, "talking");
  take(run, ended(3, "hung_up"), 40);
  take(run, ended(2, "hung_up"), 41);
  assert.equal(result(run), "completed answered hung_up agent");
  assert.equal(run.call.cost, 3);
});

test("keeps the parties talking after an unanswered transfer, and ends the call if the agent has hung up", () => {
  const run = talking({ settings: { recorded: false } });
  take(run, { type: "transfer_requested", by: "customer", to: agent("205") }, 20);
  take(run, ended(3, "no_answer"), 50);
  assert.equal(run.call.stage, "talking");
  take(run, { type: "transfer_requested", by: "agent", to: agent("205") }, 60);
  take(run, ended(1, "hung_up"), 61);
  assert.deepEqual(run.commands.at(-1), { type: "ringback", leg: 2 });
  take(run, ended(4, "no_answer"), 90);
  take(run, ended(2, "hung_up"), 91);
  assert.equal(result(run), "completed answered transfer_not_answered system");
});

test("an agent whose answer crosses the customer's hangup did not take the call", () => {
  for (const isReported of [true, false]) {
    const run = talking();
    take(run, { type: "transfer_requested", by: "agent", to: agent("205") }, 20);
    take(run, ended(2, "hung_up"), 30);
    assert.equal(run.call.stage, "ending");
    if (isReported) take(run, answered(3), 31);
    const end = { ...ended(3, "hung_up"), answered_at: at(31) };
    take(run, isReported ? ended(3, "hung_up") : end, 32);
    const leg = run.call.legs[2]!;
    assert.deepEqual([leg.status, leg.answered_at], ["canceled", at(31)]);
    assert.equal(run.call.legs[0]!.status, "in-progress");
  }
});

test("a customer whose answer was missed and who hung up did not talk: the call failed, is billed and can be retried", () => {
  const run = calling({ click_to_call: { max_retry: 1, retry_after_minutes: 7 } });
  take(run, { ...ended(2, "hung_up"), answered_at: at(10) }, 20);
  take(run, ended(1, "hung_up"), 21);
  assert.equal(result(run), "failed failed answer_missed customer");
  const { answered_at, talk_seconds, cost, legs } = run.call;
  assert.deepEqual([answered_at, talk_seconds, cost], [null, null, 2]);
  assert.deepEqual([legs[1]!.answered_at, run.call.retry_at], [at(10), at(21 + 7 * 60)]);
});

test("ignores a transfer without an extension, and a transfer of a call that is not talking", () => {
  assert.ok(!take(talking(), { type: "transfer_requested", by: "agent", to: null }, 20));
  assert.ok(!take(calling(), { type: "transfer_requested", by: "api", to: agent("205") }, 20));
  assert.ok(!take(placed(), { type: "transfer_requested", by: "api", to: agent("205") }, 20));
});

test("retries automatically up to max_retry, and never after a retry that a user requested", () => {
  const retry = (more: Parameters<typeof callValue>[0]) => {
    const run = placed({ click_to_call: { max_retry: 2 }, ...more });
    take(run, ended(1, "no_answer"), 30);
    return run.call.retry_at;
  };
  assert.deepEqual(retry({ attempt: 1 }), at(30 + 5 * 60));
  assert.deepEqual(retry({ attempt: 2 }), at(30 + 5 * 60));
  assert.equal(retry({ attempt: 3 }), null);
  assert.deepEqual(retry({ attempt: 3, unplaced_attempts: 1 }), at(30 + 5 * 60));
  assert.equal(retry({ attempt: 4, unplaced_attempts: 1 }), null);
  assert.equal(retry({ attempt: 1, retried_leg: "agent" }), null);
  assert.equal(retry({ attempt: 1, click_to_call: { max_retry: 0 } }), null);
});

test("an automatic retry that falls outside the calling window waits for it", () => {
  const settings = { night_calling: false, calling_from: "09:00", calling_to: "12:03" };
  const opening = new Date("2026-03-02T09:00:00Z");
  const contact_time_zones = ["UTC"];
  const run = placed({ click_to_call: { max_retry: 1 }, settings, contact_time_zones });
  take(run, ended(1, "no_answer"), 30);
  assert.deepEqual(run.call.retry_at, opening);
  const late = open({
    attempt: 2,
    click_to_call: { max_retry: 1 },
    settings: { ...settings, calling_to: "11:00" },
    contact_time_zones,
  });
  take(late, { type: "placed", blocker: "night_window" });
  assert.equal(result(late), "canceled canceled night_window system");
  assert.deepEqual(late.call.retry_at, opening, "claimed after the window has closed");
  const never = placed({
    click_to_call: { max_retry: 1 },
    settings: { ...settings, calling_to: "09:00" },
  });
  take(never, ended(1, "no_answer"), 30);
  assert.equal(never.call.retry_at, null);
  const abroad = placed({
    click_to_call: { max_retry: 1 },
    settings: { ...settings, calling_to: "21:00" },
    contact_time_zones: ["America/Los_Angeles"],
  });
  take(abroad, ended(1, "no_answer"), 30);
  assert.deepEqual(abroad.call.retry_at, new Date("2026-03-01T17:00:00Z"), "the customer's 09:00");
});

test("bills a pulse once it has begun, and at least one for an answered leg", () => {
  const cost = (seconds: number) => {
    const run = talking({ settings: { recorded: false, pulse_seconds: 30 } });
    take(run, ended(2, "hung_up"), 10 + seconds);
    return pulsesOf(run.call, run.call.legs[1]!, at(999));
  };
  assert.deepEqual([0, 1, 30, 30.001, 60, 61].map(cost), [1, 1, 1, 2, 2, 3]);
});

test("publishes no failed recording, and does not end a conversation when its recording arrives", () => {
  const run = talking();
  take(run, { type: "recorded", ok: false }, 20);
  assert.equal(run.call.stage, "talking");
  assert.equal(run.call.recording_state, "failed");
  assert.ok(!eventTypes(run).includes("call.recording.ready"));
  take(run, ended(2, "hung_up"), 30);
  take(run, ended(1, "hung_up"), 31);
  assert.equal(result(run), "completed answered hung_up customer");
});

/** Returns an outcome that a driver may report: of an answered leg only `hung_up` or `lost`. */
function possible(call: Call, leg: number, outcome: LegOutcome): LegOutcome {
  const state = call.legs.find(({ id }) => id === leg)?.state;
  if (state === "answered") return outcome === "lost" ? "lost" : "hung_up";
  if (outcome === "hung_up" || (outcome === "unplaced" && state !== "dialing")) return "failed";
  return outcome;
}

const many = { numRuns: 2_000 };

const leg = fc.integer({ min: 1, max: 7 });
const anyEvent: fc.Arbitrary<Untimed> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ type: fc.constantFrom("ringing", "answered", "answered"), leg }),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(leg, fc.constantFrom(...leg_outcomes))
      .map(([id, outcome]) => ended(id, outcome)),
  },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.constantFrom("101", "102", "103"), { maxLength: 3 })
      .map((found) => choose(...found)),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("transfer_requested" as const),
      by: fc.constantFrom("agent", "customer", "api"),
      to: fc.constantFrom(agent("205"), null),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("digit" as const),
      leg,
      digit: fc.constantFrom("*", "5", "7"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("hangup" as const),
      reason: fc.constantFrom("hung_up_by_api" as const, "credit" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("recorded" as const), ok: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("placed" as const), blocker: fc.constant(null) }),
  },
);

type RandomRun = typeof anyRun extends fc.Arbitrary<infer Value> ? Value : never;
const anyRun = fc.record({
  rung: fc.integer({ min: 1, max: 3 }),
  policy_applied: fc.constantFrom("hangup" as const, "next_in_group" as const, "ring_all" as const),
  max_retry: fc.integer({ min: 0, max: 3 }),
  recorded: fc.boolean(),
  events: fc.array(anyEvent, { maxLength: 40, size: "max" }),
});

/** Plays the events one second apart, with outcomes that a driver may report; `check` sees every change. */
function play(
  { rung, policy_applied, max_retry, recorded, events }: RandomRun,
  check: (before: Call, run: Run, event: Untimed, seconds: number) => void,
): Run {
  const click_to_call = {
    policy_applied,
    max_retry,
    extension_for_transfer: "5",
    extension_for_dis: "7",
  };
  const run = open({ click_to_call, settings: { recorded } });
  take(run, { type: "placed", blocker: null });
  take(run, choose(...["101", "102", "103"].slice(0, rung)));
  const handle = (event: Untimed, seconds: number) => {
    const before = run.call;
    if (take(run, event, seconds)) check(before, run, event, seconds);
  };
  for (const [i, event] of events.entries()) {
    if (event.type !== "ended") handle(event, i + 1);
    else handle(ended(event.leg, possible(run.call, event.leg, event.ending.outcome)), i + 1);
  }
  return run;
}

/** Ends every leg, finds no further agent, and completes the recording. */
function bringToEnd(run: Run, seconds: number): void {
  for (let i = 0; i < 20 && run.call.stage !== "ended"; i++) {
    for (const { id, state } of liveLegs(run.call))
      take(run, ended(id, state === "answered" ? "hung_up" : "canceled"), seconds);
    take(run, { type: "agents_chosen", agents: [] }, seconds);
    take(run, { type: "recorded", ok: true }, seconds);
  }
}

test("any sequence of events: a stage never goes back, and an ended call or leg never changes", () => {
  fc.assert(
    fc.property(anyRun, (random) => {
      const run = play(random, (before, { call }) => {
        assert.ok(stages.indexOf(call.stage) >= stages.indexOf(before.stage));
        for (const [i, old] of before.legs.entries())
          if (old.state === "ended") assert.equal(call.legs[i], old);
        for (const field of ["initiated_at", "ringing_at", "answered_at"] as const)
          if (before[field]) assert.equal(call[field], before[field]);
      });
      bringToEnd(run, 100);
      for (const event of random.events) assert.ok(!take(run, event, 200));
    }),
    many,
  );
});

test("any sequence of events: the customer is called only after an agent has answered, and at most once", () => {
  fc.assert(
    fc.property(anyRun, (random) => {
      const run = play(random, (before, { call }) => {
        const isNew = call.legs.slice(before.legs.length).some(({ role }) => role === "customer");
        const hasAgent = call.legs.some(
          ({ role, state }) => role === "agent" && state === "answered",
        );
        if (isNew) assert.ok(hasAgent, "the customer is called without an agent");
      });
      const rung = run.call.legs.filter(
        ({ role, outcome }) => role === "customer" && outcome !== "unplaced",
      );
      assert.ok(rung.length <= 1);
      for (const command of run.commands)
        if (command.type === "dial") assert.ok(command.leg <= run.call.legs.length);
    }),
    many,
  );
});

test("any sequence of events: a duplicate event changes nothing", () => {
  fc.assert(
    fc.property(anyRun, (random) => {
      play(random, (_before, run, event, seconds) => {
        // A key can be pressed twice.
        if (event.type === "digit") return;
        assert.equal(transition(run.call, line, { ...event, at: at(seconds) }), null);
      });
    }),
    many,
  );
});

test("any sequence of events: only agents who answered are bridged with the customer, who is in every bridge", () => {
  fc.assert(
    fc.property(anyRun, (random) => {
      let commands = 0;
      play(random, (_before, run) => {
        for (const command of run.commands.slice(commands)) {
          if (command.type !== "bridge") continue;
          const bridged = run.call.legs.filter(({ id }) => command.legs.includes(id));
          assert.equal(bridged.length, 2);
          assert.ok(bridged.every(({ state }) => state === "answered"));
          assert.ok(bridged.some(({ role }) => role === "customer"));
        }
        commands = run.commands.length;
      });
    }),
    many,
  );
});

test("any sequence of events: every live leg is hung up when the end is decided, and the call ends once with one outcome", () => {
  fc.assert(
    fc.property(anyRun, (random) => {
      const decide = (before: Call, { call, commands }: Run) => {
        const isDecided = call.stage === "ending" && before.stage !== "ending";
        if (!isDecided) return;
        const hung = new Set(
          commands.map((command) => (command.type === "hang_up" ? command.leg : null)),
        );
        for (const { id } of liveLegs(call)) assert.ok(hung.has(id), `leg ${id} is not hung up`);
      };
      const run = play(random, decide);
      bringToEnd(run, 100);
      const { call } = run;
      assert.equal(call.stage, "ended");
      assert.deepEqual(liveLegs(call), []);
      assert.equal(eventTypes(run).filter((type) => type === "call.completed").length, 1);
      assert.match(
        result(run),
        /^(completed|busy|failed|no-answer|canceled) \w+ \w+ (agent|customer|system|api)$/,
      );
      assert.equal(call.status === "completed", call.answered_at !== null);
      assert.equal(call.disposition === "answered", call.answered_at !== null);
      assert.ok(call.ended_at! >= call.initiated_at!);
    }),
    many,
  );
});

test("a lost call ends no earlier than the switch last reported on it, and no leg ends before it rang or was answered", () => {
  const run = calling();
  take(run, ringing(2), 4);
  take(run, answered(2), 6);
  take(run, { type: "digit", leg: 2, digit: "7" }, 9);
  const early = { ending: ending("lost"), at: at(1) } as const;
  for (const id of [1, 2]) {
    const next = runTransition(run.call, line, { type: "ended", leg: id, ...early })!;
    run.call = next.call;
  }
  assert.deepEqual(
    run.call.legs.map(({ ended_at }) => ended_at),
    [at(9), at(9)],
  );
  const unanswered = calling();
  take(unanswered, ringing(2), 4);
  const record = { type: "ended", leg: 2, ending: ending("busy"), at: at(1) } as const;
  const { call } = runTransition(unanswered.call, line, record)!;
  assert.deepEqual(call.legs[1]!.ended_at, at(4));
});

test("any sequence of events: a call costs the started pulses of its answered legs, within its credit, and is retried only after a retryable outcome", () => {
  const retried = new Set(["busy", "no_answer", "congestion", "unreachable", "failed"]);
  fc.assert(
    fc.property(anyRun, (random) => {
      const run = play(random, () => {});
      bringToEnd(run, 100);
      const { call } = run;
      const pulses = call.legs
        .filter(({ answered_at }) => answered_at)
        .map((one) => (one.ended_at!.getTime() - one.answered_at!.getTime()) / 60_000)
        .map((minutes) => Math.max(1, Math.ceil(minutes)));
      const begun = pulses.reduce((sum, one) => sum + one, 0);
      const isUsedUp = call.ended_reason === "credit";
      assert.equal(call.cost, isUsedUp ? Math.min(begun, call.reserved) : begun);
      assert.equal(call.billed_seconds, call.cost * 60);
      const isRetried = random.max_retry >= 1 && retried.has(call.disposition!);
      assert.equal(call.retry_at !== null, isRetried);
    }),
    many,
  );
});
