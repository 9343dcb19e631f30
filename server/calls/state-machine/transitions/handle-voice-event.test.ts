import assert from "node:assert/strict";
import { nextUnreservedPulse } from "../credit.ts";
import { test } from "node:test";
import fc from "fast-check";
import { callValue, voiceValue } from "../../../../test/support/call-values.ts";
import { runTransition } from "../../../../test/support/run-transition.ts";
import { messageName, playbackName, stages, type Call, type Line } from "../call.ts";
import { allBusyTexts } from "../agents-busy.ts";
import type { CallBlocker } from "../call-blocker.ts";
import type { Command, CallEvent, Notes } from "../events-and-commands.ts";
import { addLeg, liveLegs } from "../legs.ts";
import type { Menu, MenuNode, Prompt } from "../menu.ts";
import { recipientOutcome } from "./recipient-outcome.ts";
import { resumeCommands } from "../resume.ts";
import type { VoiceCallPlan } from "../voice-plan.ts";

const noon = new Date("2026-11-02T12:00:00Z").getTime();
const at = (seconds: number) => new Date(noon + seconds * 1_000);
const line: Line = {
  customer: { kind: "trunk", endpoint: "carrier", number: "919876543210" },
  caller_id: "8000000001",
};
const agent = (number: string) => ({
  number,
  target: { kind: "extension", endpoint: number, number } as const,
});
const hung_up = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
const no_answer = { ...hung_up, outcome: "no_answer" } as const;
const canceled = { ...hung_up, outcome: "canceled", by: "us" } as const;
const say = (text: string): Prompt => ({ say: text, language: "en" });

/** A voice call whose leg has just been dialed. */
function dialed(voice: Partial<VoiceCallPlan>): Call {
  const call = callValue({
    stage: "customer",
    status: "ringing",
    reserved: 1,
    initiated_at: at(0),
    voice: voiceValue({
      content: { call_type: "obd_voice_call", prompt: say("hello") },
      ...voice,
    }),
  });
  return addLeg(call, { role: "customer", number: call.to_phone, on_trunk: true }, at(0));
}

type Untimed<Event = CallEvent> = Event extends CallEvent ? Omit<Event, "at"> : never;
type Run = {
  call: Call;
  commands: readonly Command[];
  readonly menu: NonNullable<Notes["menu"]>[number][];
};

/** Handles one event and keeps its commands; returns whether it changed anything. */
function take(run: Run, event: Untimed, seconds = 1): boolean {
  const next = runTransition(run.call, line, { ...event, at: at(seconds) });
  run.commands = next?.commands ?? [];
  if (!next) return false;
  run.call = next.call;
  run.menu.push(...(next.notes?.menu ?? []));
  return true;
}

function answer(voice: Partial<VoiceCallPlan>): Run {
  const run: Run = { call: dialed(voice), commands: [], menu: [] };
  assert.ok(take(run, { type: "answered", leg: 1 }));
  return run;
}

/** Ends the current playback. */
function played(run: Run, ok = true): boolean {
  const playback = playbackName(run.call, run.call.position!.visit);
  return take(run, { type: "played", leg: 1, playback, ok });
}
const press = (run: Run, digit: string) => take(run, { type: "digit", leg: 1, digit });
const timeout = (run: Run) => take(run, { type: "timeout", visit: run.call.position!.visit });
const done = ({ commands }: Run) => commands.map((command) => command.type);
const saidTexts = ({ commands }: Run) =>
  commands
    .flatMap((command) => (command.type === "play" ? command.prompts : []))
    .map((one) => "say" in one && one.say);

const bye: MenuNode = { type: "hang_up", prompt: null };
const menu = (nodes: Record<string, MenuNode>): Partial<VoiceCallPlan> => ({
  content: { call_type: "obd_ivr", menu: { start: "main", nodes: { bye, ...nodes } } },
});
const question = (more: Partial<Extract<MenuNode, { type: "menu" }>> = {}): MenuNode => ({
  type: "menu",
  prompt: say("press 1"),
  keys: { "1": "bye" },
  invalid_prompt: say("wrong"),
  timeout_seconds: 5,
  tries: 3,
  otherwise: "bye",
  ...more,
});

test("a recipient whose answer was missed and who hung up is called again", () => {
  const run: Run = { call: dialed({ attempts_max: 2 }), commands: [], menu: [] };
  take(run, { type: "ended", leg: 1, ending: hung_up, answered_at: at(5) }, 10);
  const { stage, disposition, ended_reason, answered_at, cost } = run.call;
  assert.deepEqual(
    [stage, disposition, ended_reason, answered_at, cost],
    ["ended", "failed", "answer_missed", null, 1],
  );
  const outcome = recipientOutcome(run.call)!;
  assert.deepEqual([outcome.state, outcome.otherwise], ["waiting", "failed"]);
  assert.deepEqual(run.call.retry_at, at(310));
});

test("an inbound call is promised no callback, neither by its menu nor when no agent is free, and its legs are free", () => {
  const inbound = (nodes: Record<string, MenuNode>): Run => {
    const call: Call = {
      ...dialed({ ...menu(nodes), recipient_id: null }),
      direction: "inbound",
      reserved: 0,
    };
    const run: Run = { call, commands: [], menu: [] };
    assert.ok(take(run, { type: "answered", leg: 1 }));
    return run;
  };
  const promising = inbound({ main: { type: "callback", prompt: say("ok"), delay_minutes: 5 } });
  assert.match(String(saidTexts(promising)), /agents are busy\. Please try again later/);
  assert.deepEqual([promising.call.callback_at, promising.call.abandoned], [null, true]);
  const to = { agent_group_id: 1 };
  const waiting = inbound({ main: { type: "transfer", prompt: null, to, otherwise: "bye" } });
  assert.ok(take(waiting, { type: "agent_found", to: agent("101") }));
  assert.deepEqual(done(waiting), ["dial"], "without a reservation");
  assert.ok(take(waiting, { type: "answered", leg: 2 }, 2));
  assert.equal(nextUnreservedPulse(waiting.call), null);
  assert.ok(take(waiting, { type: "ended", leg: 1, ending: hung_up }, 90));
  assert.ok(take(waiting, { type: "ended", leg: 2, ending: hung_up }, 90));
  assert.ok(take(waiting, { type: "recorded", ok: true }, 91));
  assert.deepEqual(
    [waiting.call.stage, waiting.call.cost, waiting.call.abandoned],
    ["ended", 0, false],
  );
  const busy = inbound({ main: { type: "transfer", prompt: null, to, otherwise: "bye" } });
  assert.ok(take(busy, { type: "agent_found", to: null }));
  assert.match(String(saidTexts(busy)), /Please try again later/);
  assert.ok(!press(busy, "1") || busy.call.callback_at === null);
});

test("an extension is shown the number of an inbound call, and the line's caller ID if it is withheld", () => {
  const main: MenuNode = {
    type: "transfer",
    prompt: null,
    to: { agent_group_id: 1 },
    otherwise: "bye",
  };
  const shown = (to_number: string) => {
    const call: Call = {
      ...dialed({ ...menu({ main }), recipient_id: null }),
      direction: "inbound",
      to_number,
    };
    const run: Run = { call, commands: [], menu: [] };
    assert.ok(take(run, { type: "answered", leg: 1 }));
    assert.ok(take(run, { type: "agent_found", to: agent("101") }));
    return run.commands.map((command) => command.type === "dial" && command.caller_id);
  };
  assert.deepEqual(shown("9876543210"), ["9876543210"]);
  assert.deepEqual(shown(""), [line.caller_id]);
});

test("plays audio once the call is answered, and hangs up when it ends", () => {
  const run = answer({
    variables: { name: "Asha" },
    content: { call_type: "obd_voice_call", prompt: say("hello {{name}}") },
  });
  assert.deepEqual(saidTexts(run), ["hello Asha"]);
  assert.ok(!take(run, { type: "played", leg: 1, playback: "another", ok: true }));
  assert.ok(played(run));
  assert.deepEqual(
    [run.call.stage, run.call.ended_reason, done(run)],
    ["ending", "played", ["hang_up", "end_bridge"]],
  );
});

test("counts an opt-out key that is pressed within seconds after the message", () => {
  const run = answer({ opt_out_key: "9" });
  assert.ok(played(run));
  assert.deepEqual([run.call.stage, done(run)], ["talking", ["wait"]]);
  assert.deepEqual(resumeCommands(run.call), run.commands);
  press(run, "1");
  assert.equal(run.call.stage, "talking");
  press(run, "9");
  assert.deepEqual([run.call.ended_reason, run.call.opted_out], ["opted_out", true]);
});

test("an opt-out key counts from the answer until the leg has ended, also while the call is hung up", () => {
  const early = answer({ opt_out_key: "9", answering_machine: "hang_up" });
  assert.equal(early.call.position?.doing, "detecting");
  press(early, "9");
  assert.deepEqual([early.call.ended_reason, early.call.opted_out], ["opted_out", true]);
  const late = answer({ opt_out_key: "9" });
  played(late);
  timeout(late);
  assert.deepEqual([late.call.stage, late.call.ended_reason], ["ending", "played"]);
  press(late, "1");
  assert.deepEqual([late.call.opted_out, late.call.dtmf], [false, "1"]);
  press(late, "9");
  assert.deepEqual([late.call.opted_out, late.call.ended_reason], [true, "played"]);
  take(late, { type: "ended", leg: 1, ending: hung_up });
  assert.ok(!press(late, "9"));
  assert.deepEqual([late.call.stage, late.call.opted_out], ["ended", true]);
});

test("ends a call when no key follows its message, and at once after a machine's", () => {
  const run = answer({ opt_out_key: "9" });
  played(run);
  timeout(run);
  assert.deepEqual([run.call.ended_reason, run.call.opted_out], ["played", false]);
  const machine = answer({ opt_out_key: "9", answering_machine: "play" });
  take(machine, { type: "detected", leg: 1, answered_by: "machine" });
  timeout(machine);
  played(machine);
  assert.equal(machine.call.ended_reason, "played");
});

test("fails a recipient whose prompt could not be played, and allows a retry", () => {
  const run = answer({ attempts_max: 2 });
  played(run, false);
  take(run, { type: "ended", leg: 1, ending: hung_up });
  assert.deepEqual([run.call.status, run.call.ended_reason], ["failed", "playback_failed"]);
  const after = recipientOutcome(run.call)!;
  assert.deepEqual([after.state, after.otherwise, after.due_at], ["waiting", "failed", at(301)]);
});

test("fails a recipient as soon as a prompt of the menu could not be played, the first or a later one, and allows a retry", () => {
  const thanks: MenuNode = { type: "hang_up", prompt: say("your balance") };
  const record = { type: "record", prompt: say("speak"), max_seconds: 9, silence_seconds: 2 };
  const first: MenuNode[] = [
    question(),
    { type: "play", prompt: say("welcome"), next: "bye" },
    { ...record, next: "bye" } as MenuNode,
    thanks,
    { type: "callback", prompt: say("later"), delay_minutes: 5 },
  ];
  const runs = first.map((main) => answer({ ...menu({ main }), attempts_max: 2 }));
  const asking = question({ keys: { "1": "thanks" } });
  const later = answer({ ...menu({ main: asking, thanks }), attempts_max: 2 });
  played(later);
  press(later, "1");
  for (const run of [...runs, later]) {
    played(run, false);
    assert.deepEqual(done(run), ["hang_up", "end_bridge"]);
    take(run, { type: "ended", leg: 1, ending: hung_up });
    const { status, disposition, ended_reason } = run.call;
    assert.deepEqual([status, disposition, ended_reason], ["failed", "failed", "playback_failed"]);
    const { state, otherwise } = recipientOutcome(run.call)!;
    assert.deepEqual([state, otherwise], ["waiting", "failed"]);
  }
});

test("an opt-out counts although its confirmation could not be played", () => {
  const stop: MenuNode = { type: "opt_out", prompt: say("goodbye") };
  const run = answer({
    ...menu({ main: question({ keys: { "9": "stop" } }), stop }),
    attempts_max: 2,
  });
  press(run, "9");
  played(run, false);
  take(run, { type: "ended", leg: 1, ending: hung_up });
  assert.deepEqual([run.call.opted_out, recipientOutcome(run.call)!.state], [true, "failed"]);
});

test("transfers a caller although the announcement of the transfer could not be played", () => {
  const to = { extension: "101" };
  const run = answer(
    menu({ main: { type: "transfer", prompt: say("one moment"), to, otherwise: "bye" } }),
  );
  played(run, false);
  assert.deepEqual(done(run), ["ringback", "find_agent"]);
  take(run, { type: "agent_found", to: null });
  press(run, "1");
  played(run, false);
  assert.equal(run.call.ended_reason, "playback_failed", "the confirmation of a callback");
  assert.ok(run.call.callback_at);
});

test("does not redial a recipient at once: with retry_after 0, a minute passes", () => {
  const run: Run = {
    call: dialed({ attempts_max: 2, retry_after_minutes: 0 }),
    commands: [],
    menu: [],
  };
  take(run, { type: "ended", leg: 1, ending: no_answer });
  const { state, due_at } = recipientOutcome(run.call)!;
  assert.deepEqual([state, due_at!.getTime() - run.call.ended_at!.getTime()], ["waiting", 60_000]);
});

test("ends a call that loops through its menu forever", () => {
  const run = answer(
    menu({
      main: {
        type: "transfer",
        prompt: say("one moment"),
        to: { extension: "101" },
        otherwise: "main",
      },
    }),
  );
  for (let i = 0; i < 1_000 && run.call.stage === "talking"; i++) {
    played(run);
    take(run, { type: "agent_found", to: null });
  }
  assert.deepEqual([run.call.stage, run.call.ended_reason], ["ending", "too_long"]);
});

test("lets a key interrupt a menu's prompt, and repeats it after an invalid key or a time-out up to its tries", () => {
  const run = answer(menu({ main: question() }));
  assert.deepEqual(saidTexts(run), ["press 1"]);
  press(run, "5");
  assert.deepEqual(
    [done(run), saidTexts(run)],
    [
      ["stop_playing", "play"],
      ["wrong", "press 1"],
    ],
  );
  played(run);
  assert.deepEqual(done(run), ["wait"]);
  assert.ok(!take(run, { type: "timeout", visit: 1 }), "ignores a timer of an earlier visit");
  timeout(run);
  assert.deepEqual(saidTexts(run), ["wrong", "press 1"]);
  press(run, "0");
  assert.deepEqual([run.call.stage, run.call.ended_reason], ["ending", "menu_ended"]);
  assert.deepEqual(
    run.menu.map(({ node, key }) => `${node} ${key}`),
    ["main null", "main 5", "main timeout", "main 0", "bye null"],
  );
});

test("captures digits up to #, the longest length or the time-out, restarts on *, and fills them into later prompts", () => {
  const capture: MenuNode = {
    type: "capture",
    prompt: say("your pin"),
    variable: "pin",
    min_digits: 2,
    max_digits: 4,
    invalid_prompt: null,
    timeout_seconds: 5,
    tries: 2,
    next: "thanks",
    otherwise: "bye",
  };
  const thanks: MenuNode = { type: "hang_up", prompt: say("you said {{pin}}") };
  const entered = (...keys: string[]) => {
    const run = answer(menu({ main: capture, thanks }));
    for (const key of keys)
      if (key === "wait") timeout(run);
      else press(run, key);
    return [run.call.collected["pin"], run.call.position!.node, saidTexts(run)];
  };
  assert.deepEqual(entered("1", "2", "#"), ["12", "thanks", ["you said 12"]]);
  assert.deepEqual(entered("1", "2", "3", "4"), ["1234", "thanks", ["you said 1234"]]);
  assert.deepEqual(entered("9", "*", "7", "8", "wait"), ["78", "thanks", ["you said 78"]]);
  assert.deepEqual(entered("1", "#"), [undefined, "main", ["your pin"]]);
  assert.deepEqual(entered("1", "#", "1", "wait"), [undefined, "bye", []]);
});

test("ends a message on #, on its limits or when the caller hangs up, and gives it up after a time-out", () => {
  const record: MenuNode = {
    type: "record",
    prompt: say("speak"),
    max_seconds: 60,
    silence_seconds: 3,
    next: "bye",
  };
  const recording = () => {
    const run = answer(menu({ main: record }));
    played(run);
    assert.deepEqual(done(run), ["record_message", "wait"]);
    return run;
  };
  const one = recording();
  press(one, "#");
  assert.deepEqual(done(one), ["stop_message"]);
  const name = messageName(one.call, one.call.position!.visit);
  const recorded = runTransition(one.call, line, {
    type: "message",
    recording: name,
    ok: true,
    at: at(5),
  })!;
  assert.deepEqual(recorded.notes!.messages, [{ recording: name, node: "main", state: "ready" }]);
  const left = recording();
  const ended = runTransition(left.call, line, {
    type: "ended",
    leg: 1,
    ending: hung_up,
    at: at(5),
  })!;
  assert.equal(ended.notes!.messages![0]!.state, "ready");
  const stuck = recording();
  timeout(stuck);
  assert.deepEqual(done(stuck), ["stop_message", "hang_up", "end_bridge"]);
});

test("ends and keeps the message of a caller who is transferred by the API meanwhile", () => {
  const record: MenuNode = {
    type: "record",
    prompt: say("speak"),
    max_seconds: 60,
    silence_seconds: 3,
    next: "bye",
  };
  const run = answer(menu({ main: record }));
  played(run);
  const { visit } = run.call.position!;
  take(run, { type: "transfer_requested", by: "api", to: agent("101") });
  const bridged = runTransition(run.call, line, { type: "answered", leg: 2, at: at(5) })!;
  assert.deepEqual(bridged.commands.slice(0, 3), [
    { type: "stop_message", visit },
    { type: "stop_ringback", leg: 1 },
    { type: "bridge", legs: [1, 2] },
  ]);
  const recording = messageName(run.call, visit);
  assert.deepEqual(bridged.notes?.messages, [{ recording, node: "main", state: "ready" }]);
});

test("a caller who is being transferred waits with ringback once the message or the AI agent has ended, until the transfer is answered or not", () => {
  const transferred = (voice: Partial<VoiceCallPlan> = {}) => {
    const run = answer(voice);
    take(run, { type: "transfer_requested", by: "api", to: agent("101") });
    assert.deepEqual(done(run), ["dial"]);
    return run;
  };
  const bridged = transferred();
  played(bridged);
  assert.deepEqual([done(bridged), bridged.call.stage], [["ringback"], "talking"]);
  take(bridged, { type: "answered", leg: 2 });
  assert.ok(done(bridged).includes("bridge"));
  assert.ok(!bridged.call.abandoned);
  const content = { call_type: "ai_bot", agent: {} as never, transfer_to: null } as const;
  const unanswered = transferred({ content });
  take(unanswered, { type: "tool", tool: { name: "end_call" } });
  assert.deepEqual(done(unanswered), ["end_conversation", "ringback"]);
  take(unanswered, { type: "ended", leg: 2, ending: no_answer });
  assert.deepEqual(done(unanswered), ["hang_up", "end_bridge"]);
  assert.equal(unanswered.call.ended_reason, "transfer_not_answered");
  const opted_out = transferred({ opt_out_key: "9" });
  press(opted_out, "9");
  assert.equal(opted_out.call.stage, "ending");
});

test("an unanswered transfer ends the call of an AI agent that has ended the talk, although the plan has a transfer target", () => {
  const run = answer(ai);
  take(run, { type: "audible" });
  take(run, { type: "transfer_requested", by: "api", to: agent("102") });
  take(run, { type: "tool", tool: { name: "end_call" } });
  assert.deepEqual(done(run), ["end_conversation", "ringback"]);
  assert.deepEqual(resumeCommands(run.call), [{ type: "ringback", leg: 1 }]);
  const { is_content_over: _unknown, ...position } = run.call.position!;
  const earlier: Run = { ...run, call: { ...run.call, position } };
  take(run, { type: "ended", leg: 2, ending: no_answer });
  assert.deepEqual(done(run), ["hang_up", "end_bridge"]);
  assert.equal(run.call.ended_reason, "transfer_not_answered");
  take(earlier, { type: "ended", leg: 2, ending: no_answer });
  assert.deepEqual(done(earlier), ["find_agent"], "a call of an earlier version");
});

test("rings one agent after the other for a caller, and continues with the menu when none answers", () => {
  const transfer: MenuNode = {
    type: "transfer",
    prompt: null,
    to: { agent_group_id: 7 },
    otherwise: "sorry",
  };
  const sorry: MenuNode = { type: "hang_up", prompt: say("sorry") };
  const transferring = () => answer(menu({ main: transfer, sorry }));
  const run = transferring();
  assert.deepEqual(done(run), ["ringback", "find_agent"]);
  take(run, { type: "agent_found", to: agent("101") });
  assert.deepEqual(done(run), ["dial"]);
  assert.ok(!take(run, { type: "agent_found", to: agent("102") }), "one at a time");
  take(run, { type: "ended", leg: 2, ending: no_answer });
  assert.deepEqual(done(run), ["find_agent"]);
  take(run, { type: "agent_found", to: agent("102") });
  take(run, { type: "answered", leg: 3 });
  assert.deepEqual(done(run), ["stop_ringback", "bridge", "record"]);
  take(run, { type: "ended", leg: 3, ending: hung_up });
  assert.deepEqual([run.call.status, run.call.ended_by], ["completed", "agent"]);
  const without = transferring();
  take(without, { type: "agent_found", to: null });
  assert.deepEqual([done(without), saidTexts(without)], [["stop_ringback", "play"], ["sorry"]]);
  const again = answer(menu({ main: transfer, sorry: { ...transfer, otherwise: "bye" } }));
  take(again, { type: "agent_found", to: agent("101") });
  take(again, { type: "ended", leg: 2, ending: no_answer });
  take(again, { type: "agent_found", to: null });
  assert.equal(again.call.position!.legs_before, 2, "agents are rung once per transfer");
});

/** A caller who pressed 1 for an agent, when none is free. */
function withoutAgent(
  more: Record<string, MenuNode> = {},
  otherwise = "bye",
  voice: Partial<VoiceCallPlan> = {},
): Run {
  const to = { agent_group_id: 7 };
  const person: MenuNode = { type: "transfer", prompt: null, to, otherwise };
  const run = answer({
    ...menu({ main: question({ keys: { "1": "person" } }), person, ...more }),
    ...voice,
  });
  press(run, "1");
  take(run, { type: "agent_found", to: null });
  return run;
}

test("plays a message to a caller who gets no agent, instead of cutting them off, and counts them as abandoned", () => {
  const run = withoutAgent();
  assert.deepEqual(saidTexts(run), [
    "I am sorry, all our agents are busy. To be called back, press 1.",
  ]);
  played(run);
  assert.deepEqual(done(run), ["wait"]);
  assert.ok(!press(run, "2") || run.call.stage === "talking", "another key has no effect");
  timeout(run);
  take(run, { type: "ended", leg: 1, ending: hung_up });
  const { status, disposition, ended_reason } = run.call;
  assert.deepEqual(
    [status, disposition, ended_reason],
    ["completed", "abandoned", "transfer_not_answered"],
  );
  assert.equal(recipientOutcome(run.call)!.state, "answered");
});

test("a caller who gets no agent and presses 1 is called back", () => {
  for (const when of ["during", "after"]) {
    const run = withoutAgent();
    if (when === "after") played(run);
    press(run, "1");
    assert.deepEqual(saidTexts(run), ["Thank you. We will call you back."]);
    played(run);
    take(run, { type: "ended", leg: 1, ending: hung_up });
    assert.deepEqual(
      [run.call.disposition, run.call.ended_reason],
      ["abandoned", "callback_requested"],
    );
    const { state, callback, due_at } = recipientOutcome(run.call)!;
    assert.deepEqual([state, callback, due_at], ["waiting", true, at(1 + 30 * 60)]);
  }
});

test("promises a callback only within the calling window, and only one that will be placed", () => {
  const settings = { night_calling: false, calling_from: "09:00", calling_to: "12:10" };
  const run = withoutAgent();
  const contact_time_zones = ["UTC"];
  run.call = { ...run.call, settings: { ...run.call.settings, ...settings }, contact_time_zones };
  press(run, "1");
  assert.deepEqual(run.call.callback_at, new Date("2026-11-03T09:00:00Z"));
  const often = withoutAgent({}, "bye", { callbacks: 5 });
  assert.deepEqual(saidTexts(often), [
    "I am sorry, all our agents are busy. Please try again later.",
  ]);
  press(often, "1");
  assert.equal(often.call.callback_at, null);
});

test("promises a callback for a time at which the customer's own clock allows it", () => {
  const hours = { night_calling: false, calling_from: "09:00", calling_to: "21:00" };
  const inNewYork = (run: Run): Run => {
    run.call = {
      ...run.call,
      settings: { ...run.call.settings, ...hours },
      contact_time_zones: ["America/New_York"],
    };
    return run;
  };
  const opens_at = new Date("2026-11-02T14:00:00Z");
  const busy = inNewYork(withoutAgent());
  press(busy, "1");
  assert.deepEqual(busy.call.callback_at, opens_at);
  const later: MenuNode = { type: "callback", prompt: say("later"), delay_minutes: 90 };
  const asking = inNewYork(answer(menu({ main: question({ keys: { "1": "later" } }), later })));
  press(asking, "1");
  assert.deepEqual(asking.call.callback_at, opens_at);
});

test("says that all agents are busy in the language of the menu, of the transfer in it, or of the AI agent", () => {
  const hindi = (text: string): Prompt => ({ say: text, language: "hi-IN" });
  const inLanguages = (run: Run) =>
    run.commands
      .flatMap((command) => (command.type === "play" ? command.prompts : []))
      .map((one) => "say" in one && `${one.language}: ${one.say}`);
  const busy = "hi-IN: क्षमा करें, हमारे सभी एजेंट व्यस्त हैं। वापस कॉल पाने के लिए 1 दबाएँ।";
  const to = { agent_group_id: 7 };
  const main: MenuNode = { type: "transfer", prompt: null, to, otherwise: "bye" };
  const none = { type: "agent_found", to: null } as const;

  const of_menu = answer(menu({ main, sorry: { type: "hang_up", prompt: hindi("माफ़ करें") } }));
  take(of_menu, none);
  assert.deepEqual(inLanguages(of_menu), [busy]);
  press(of_menu, "1");
  assert.deepEqual(inLanguages(of_menu), ["hi-IN: धन्यवाद। हम आपको वापस कॉल करेंगे।"]);

  const of_transfer = answer(
    menu({
      main: question({ keys: { "1": "person" } }),
      person: { ...main, prompt: hindi("रुकिए") },
    }),
  );
  press(of_transfer, "1");
  played(of_transfer);
  take(of_transfer, none);
  assert.deepEqual(inLanguages(of_transfer), [busy]);

  const unknown = answer(
    menu({ main, sorry: { type: "hang_up", prompt: { say: "…", language: "tlh" } } }),
  );
  take(unknown, none);
  assert.match(String(inLanguages(unknown)), /^en: I am sorry/);
});

test("plays the account's own message that all agents are busy, after which 1 still asks for a callback", () => {
  const audio = { name: "ours", duration_ms: 1_000 };
  const to = { agent_group_id: 7 };
  const main: MenuNode = { type: "transfer", prompt: null, to, otherwise: "bye" };
  const run = answer(menu({ main }));
  run.call = { ...run.call, settings: { ...run.call.settings, busy_audio: audio } };
  take(run, { type: "agent_found", to: null });
  assert.deepEqual(
    run.commands.flatMap((command) => (command.type === "play" ? command.prompts : [])),
    [{ audio }],
  );
  press(run, "1");
  assert.deepEqual(saidTexts(run), ["Thank you. We will call you back."]);
});

test("does not cut a caller without an agent off in silence where fields are set on the way to a hang-up", () => {
  const set = (field: string, next: string): MenuNode => ({
    type: "set_field",
    field,
    value: "yes",
    next,
  });
  const run = withoutAgent(
    { missed: set("missed", "again"), again: set("again", "bye") },
    "missed",
  );
  assert.deepEqual(saidTexts(run), [
    "I am sorry, all our agents are busy. To be called back, press 1.",
  ]);
  assert.deepEqual(run.call.lead_fields, { missed: "yes", again: "yes" });
  const ending: MenuNode = { type: "hang_up", prompt: say("sorry") };
  const own = withoutAgent({ missed: set("missed", "ending"), ending }, "missed");
  assert.deepEqual([saidTexts(own), own.call.lead_fields], [["sorry"], { missed: "yes" }]);
});

test("does not end a call in silence where a caller without an agent reaches a callback or an opt-out without a prompt", () => {
  const promised = withoutAgent(
    { last: { type: "callback", prompt: null, delay_minutes: 90 } },
    "last",
  );
  assert.deepEqual(saidTexts(promised), ["Thank you. We will call you back."]);
  played(promised);
  take(promised, { type: "ended", leg: 1, ending: hung_up });
  assert.deepEqual(promised.call.callback_at, at(1 + 90 * 60));
  assert.equal(promised.call.ended_reason, "callback_requested");
  const out = withoutAgent({ last: { type: "opt_out", prompt: null } }, "last");
  assert.equal(out.call.opted_out, true, "before the message, during which the caller may hang up");
  assert.deepEqual(saidTexts(out), [
    "I am sorry, all our agents are busy. Please try again later.",
  ]);
  played(out);
  take(out, { type: "ended", leg: 1, ending: hung_up });
  assert.equal(out.call.ended_reason, "opted_out");
});

test("synthesizes before the call what is said to a caller without an agent", () => {
  const to = { agent_group_id: 7 };
  const texts = (otherwise: MenuNode, own: boolean) => {
    const main: MenuNode = { type: "transfer", prompt: null, to, otherwise: "last" };
    const { content } = menu({ main, last: otherwise });
    return allBusyTexts(content!, own).map((text) => text.say);
  };
  const callback: MenuNode = { type: "callback", prompt: null, delay_minutes: 30 };
  const confirmation = "Thank you. We will call you back.";
  assert.deepEqual(
    [texts(callback, false), texts(callback, true)],
    [[confirmation], [confirmation]],
  );
  const out: MenuNode = { type: "opt_out", prompt: null };
  assert.equal(texts(out, false).length, 1);
  assert.deepEqual(texts(out, true), []);
  assert.deepEqual(texts({ ...callback, prompt: say("later") }, false), []);
});

test("names the cap at which an agent was not dialed to a caller who then gets none", () => {
  const to = { agent_group_id: 7 };
  const main: MenuNode = { type: "transfer", prompt: null, to, otherwise: "bye" };
  const reasonOf = (blocker: CallBlocker) => {
    const run = answer(menu({ main }));
    take(run, { type: "agent_found", to: agent("101") });
    assert.ok(take(run, { type: "ended", leg: 2, ending: canceled, blocker }));
    take(run, { type: "agent_found", to: null });
    played(run);
    timeout(run);
    take(run, { type: "ended", leg: 1, ending: hung_up });
    return [run.call.legs[1]!.blocker, run.call.disposition, run.call.ended_reason];
  };
  assert.deepEqual(reasonOf("number_cap"), ["number_cap", "abandoned", "number_cap"]);
  // Must not read as the recipient's own suppression.
  assert.deepEqual(reasonOf("suppressed"), ["suppressed", "abandoned", "transfer_not_answered"]);
});

test("a menu can promise a callback in its own words and time", () => {
  const callback: MenuNode = { type: "callback", prompt: say("later"), delay_minutes: 90 };
  const run = withoutAgent({ callback }, "callback");
  assert.deepEqual(saidTexts(run), ["later"]);
  played(run);
  take(run, { type: "ended", leg: 1, ending: hung_up });
  assert.deepEqual(run.call.callback_at, at(1 + 90 * 60));
});

test("a menu promises no callback after five, whether or not its node has a prompt", () => {
  const sorry = ["I am sorry, all our agents are busy. Please try again later."];
  for (const prompt of [say("later"), null]) {
    const callback: MenuNode = { type: "callback", prompt, delay_minutes: 90 };
    const chosen = menu({ main: question({ keys: { "1": "callback" } }), callback });
    const asking = answer({ ...chosen, callbacks: 5 });
    press(asking, "1");
    for (const run of [asking, withoutAgent({ callback }, "callback", { callbacks: 5 })]) {
      assert.deepEqual(saidTexts(run), sorry);
      played(run);
      timeout(run);
      take(run, { type: "ended", leg: 1, ending: hung_up });
      assert.deepEqual([run.call.stage, run.call.callback_at], ["ended", null]);
      const { state, callback: isPromised } = recipientOutcome(run.call)!;
      assert.deepEqual([state, isPromised], ["answered", false]);
    }
    const last = withoutAgent({ callback }, "callback", { callbacks: 4 });
    assert.deepEqual(last.call.callback_at, at(1 + 90 * 60));
  }
});

test("a caller counts as abandoned until an agent is connected, also one who hangs up while agents ring", () => {
  const disposition = (...events: Untimed[]) => {
    const to = { agent_group_id: 7 };
    const main: MenuNode = { type: "transfer", prompt: null, to, otherwise: "bye" };
    const run = answer(menu({ main }));
    for (const event of events) take(run, event);
    take(run, { type: "ended", leg: 1, ending: hung_up });
    take(run, { type: "ended", leg: 2, ending: hung_up });
    take(run, { type: "recorded", ok: true });
    return run.call.disposition;
  };
  const found = { type: "agent_found", to: agent("101") } as const;
  assert.equal(disposition(found), "abandoned");
  assert.equal(disposition(found, { type: "answered", leg: 2 }), "answered");
});

test("plays the message once a machine has finished its greeting, and reports it as voicemail_left", () => {
  for (const event of ["silent", "timeout"] as const) {
    const run = answer({ answering_machine: "play" });
    take(run, { type: "detected", leg: 1, answered_by: "machine" });
    assert.deepEqual(done(run), ["await_silence", "wait"], "not over the greeting");
    const { visit } = run.call.position!;
    take(run, event === "silent" ? { type: event, leg: 1 } : { type: event, visit });
    assert.deepEqual(saidTexts(run), ["hello"]);
    played(run);
    take(run, { type: "ended", leg: 1, ending: hung_up });
    assert.deepEqual([run.call.status, run.call.disposition], ["completed", "voicemail_left"]);
    assert.equal(recipientOutcome(run.call)!.state, "machine");
  }
});

const ai: Partial<VoiceCallPlan> = {
  content: {
    call_type: "ai_bot",
    agent: { language: "hi" } as never,
    transfer_to: { extension: "101" },
  },
};

test("lets an AI agent set fields, schedule a callback, transfer and hang up, and closes it however it ends", () => {
  const run = answer(ai);
  assert.deepEqual(done(run), ["converse"]);
  take(run, { type: "tool", tool: { name: "set_lead_field", field: "budget", value: "5" } });
  take(run, { type: "tool", tool: { name: "schedule_callback", at: "2026-11-03T09:00:00Z" } });
  take(run, { type: "tool", tool: { name: "schedule_callback", at: "2020-01-01T00:00:00Z" } });
  take(run, { type: "tool", tool: { name: "schedule_callback", at: "2028-01-01T00:00:00Z" } });
  press(run, "4");
  assert.deepEqual(run.commands, [{ type: "press", digit: "4" }]);
  const before = run.call;
  take(run, { type: "tool", tool: { name: "transfer_to_agent" } });
  assert.deepEqual(done(run), ["end_conversation", "ringback", "find_agent"]);
  for (const event of [
    { type: "tool", tool: { name: "end_call" } },
    { type: "ended", leg: 1, ending: hung_up },
    { type: "hangup", reason: "credit" },
  ] as const) {
    run.call = before;
    take(run, event);
    assert.equal(done(run)[0], "end_conversation", event.type);
  }
  const over = runTransition(before, line, { type: "ended", leg: 1, ending: hung_up, at: at(9) })!;
  const finished = runTransition(over.call, line, { type: "recorded", ok: true, at: at(10) })!;
  assert.deepEqual(finished.call.lead_fields, { budget: "5" });
  assert.deepEqual(finished.call.collected, { budget: "5" });
  const after = recipientOutcome(finished.call)!;
  assert.deepEqual(
    [after.state, after.due_at, after.callback],
    ["waiting", new Date("2026-11-03T09:00:00Z"), true],
  );
});

test("calls back a minute after the call if the promised time is sooner, at the promised time otherwise", () => {
  const dueAfter = (ended_s: number) => {
    const run = answer(ai);
    const { call } = run;
    take(run, { type: "tool", tool: { name: "schedule_callback", at: at(120).toISOString() } });
    take(run, { type: "ended", leg: 1, ending: hung_up }, ended_s);
    take(run, { type: "recorded", ok: true }, ended_s + 1);
    assert.deepEqual([call.callback_at, run.call.callback_at], [null, at(120)]);
    const { due_at, callback } = recipientOutcome(run.call)!;
    assert.deepEqual([callback, run.call.retry_at], [true, due_at]);
    return due_at;
  };
  assert.deepEqual([30, 100, 360].map(dueAfter), [at(120), at(160), at(420)]);
});

test("transfers a caller whose AI agent is lost to a person, or ends the call as agent_lost", () => {
  const lost = { type: "conversation_ended", reason: "lost" } as const;
  const run = answer(ai);
  take(run, lost);
  assert.deepEqual(done(run), ["end_conversation", "ringback", "find_agent"]);
  const alone = answer({
    content: { call_type: "ai_bot", agent: { language: "hi" } as never, transfer_to: null },
  });
  take(alone, lost);
  assert.equal(alone.call.ended_reason, "agent_lost");
});

test("records the person who takes over a caller from an AI agent that could not be connected", () => {
  const run = answer(ai);
  const settings = { ...run.call.settings, recorded: true };
  run.call = { ...run.call, settings, recording_state: "recording" };
  take(run, { type: "conversation_ended", reason: "lost" });
  take(run, { type: "agent_found", to: agent("101") });
  take(run, { type: "answered", leg: 2 });
  assert.ok(done(run).includes("record"));
});

test("records an opt-out when the AI agent calls the tool, whoever ends the call and however", () => {
  const optedOut = () => {
    const run = answer({ ...ai, attempts_max: 3 });
    take(run, { type: "audible" });
    take(run, { type: "tool", tool: { name: "schedule_callback", at: "2026-11-03T09:00:00Z" } });
    take(run, { type: "tool", tool: { name: "opt_out" } });
    assert.deepEqual([run.call.opted_out, run.call.stage, done(run)], [true, "talking", []]);
    return run;
  };
  const ends = [
    [{ type: "ended", leg: 1, ending: hung_up }, "hung_up"],
    [{ type: "tool", tool: { name: "end_call" } }, "opted_out"],
    [{ type: "conversation_ended", reason: "silence" }, "opted_out"],
    [{ type: "conversation_ended", reason: "lost" }, "opted_out"],
  ] as const;
  for (const [event, reason] of ends) {
    const run = optedOut();
    take(run, event);
    take(run, { type: "ended", leg: 1, ending: hung_up });
    take(run, { type: "recorded", ok: true });
    assert.deepEqual([run.call.stage, run.call.ended_reason], ["ended", reason]);
    assert.deepEqual(recipientOutcome(run.call)!.state, "answered");
  }
});

test("fails and does not charge a call whose AI agent is lost before its first word, and allows a retry", () => {
  const lose = (isAudible: boolean) => {
    const run = answer({
      content: { call_type: "ai_bot", agent: { language: "hi" } as never, transfer_to: null },
      attempts_max: 2,
    });
    if (isAudible) take(run, { type: "audible" });
    take(run, { type: "conversation_ended", reason: "failed" }, 2);
    take(run, { type: "ended", leg: 1, ending: hung_up }, 2);
    take(run, { type: "recorded", ok: true }, 2);
    const { state } = recipientOutcome(run.call)!;
    return [run.call.status, run.call.ended_reason, run.call.cost, run.call.billed_seconds, state];
  };
  assert.deepEqual(lose(false), ["failed", "agent_lost", 0, 0, "waiting"]);
  assert.deepEqual(lose(true), ["completed", "agent_lost", 1, 60, "answered"]);
});

test("fails and does not charge a call whose caller hangs up after the AI agent was silent for more than three seconds", () => {
  const hangUp = (seconds: number, ...events: Untimed[]) => {
    const run = answer({ ...ai, attempts_max: 2 });
    for (const event of events) take(run, event, 3);
    take(run, { type: "ended", leg: 1, ending: hung_up }, 1 + seconds);
    take(run, { type: "recorded", ok: true }, 9);
    const { disposition, ended_reason, ended_by, cost } = run.call;
    return [disposition, ended_reason, ended_by, cost, recipientOutcome(run.call)!.state];
  };
  const answered = ["answered", "hung_up", "customer", 1, "answered"];
  assert.deepEqual(hangUp(4), ["failed", "agent_lost", "customer", 0, "waiting"]);
  assert.deepEqual(hangUp(1), answered, "a caller who hangs up at once");
  assert.deepEqual(hangUp(8, { type: "audible" }), answered);
  assert.deepEqual(hangUp(8, { type: "tool", tool: { name: "opt_out" } }), answered);
});

test("an AI agent's silence begins when it may speak, not while an answering machine is detected", () => {
  const run = answer({ ...ai, answering_machine: "hang_up" });
  take(run, { type: "detected", leg: 1, answered_by: "human" }, 8);
  const { conversing_since_ms: _unknown, ...position } = run.call.position!;
  const earlier: Run = { ...run, call: { ...run.call, position } };
  take(run, { type: "ended", leg: 1, ending: hung_up }, 9);
  assert.equal(run.call.ended_reason, "hung_up");
  take(earlier, { type: "ended", leg: 1, ending: hung_up }, 60);
  assert.equal(earlier.call.ended_reason, "hung_up", "a call of an earlier version");
});

test("hangs up when the AI agent is lost before the answer, and counts the attempt only if the phone rang", () => {
  const lose = (rings: boolean) => {
    const run: Run = { call: dialed(ai), commands: [], menu: [] };
    if (rings) take(run, { type: "ringing", leg: 1 });
    take(run, { type: "conversation_ended", reason: "lost" });
    assert.deepEqual(done(run), ["hang_up"]);
    take(run, { type: "ended", leg: 1, ending: { ...hung_up, outcome: "canceled" } });
    const { state, uncounted } = recipientOutcome(run.call)!;
    return [run.call.ended_reason, run.call.status, state, uncounted];
  };
  assert.deepEqual(lose(false), ["ai_agent_unavailable", "canceled", "waiting", true]);
  assert.deepEqual(lose(true), ["ai_agent_unavailable", "failed", "failed", false]);
});

test("keeps each of a caller's callbacks, up to five", () => {
  const outcome = (callbacks: number) => {
    const run = answer({ ...ai, callbacks });
    take(run, { type: "tool", tool: { name: "schedule_callback", at: "2026-11-03T09:00:00Z" } });
    take(run, { type: "ended", leg: 1, ending: hung_up });
    take(run, { type: "recorded", ok: true });
    return recipientOutcome(run.call)!.callback;
  };
  assert.deepEqual([outcome(0), outcome(4), outcome(5)], [true, true, false]);
});

test("does not count a withdrawn dial as an attempt, and lets its recipient wait unless they must not be called", () => {
  const blockers = [
    "held",
    "night_window",
    "already_in_call",
    "node_unavailable",
    "ai_agent_unavailable",
    "speech_unavailable",
    "speech_rejected",
    "suppressed",
  ] as const;
  const states = blockers.map((blocker) => {
    const next = runTransition(dialed({}), line, {
      type: "withdrawn",
      leg: 1,
      blocker,
      at: at(1),
    })!;
    assert.deepEqual([next.call.stage, next.call.cost, next.commands], ["ended", 0, []]);
    const { state, uncounted } = recipientOutcome(next.call)!;
    return [blocker, state, uncounted];
  });
  assert.deepEqual(states, [
    ["held", "waiting", true],
    ["night_window", "waiting", true],
    ["already_in_call", "waiting", true],
    ["node_unavailable", "waiting", true],
    ["ai_agent_unavailable", "waiting", true],
    ["speech_unavailable", "waiting", true],
    ["speech_rejected", "failed", true],
    ["suppressed", "suppressed", true],
  ]);
});

test("counts a call that is hung up as an attempt only if the phone rang or was answered", () => {
  const hungUp = (...before: Untimed[]): boolean => {
    const run: Run = { call: dialed({}), commands: [], menu: [] };
    for (const event of before) take(run, event);
    take(run, { type: "hangup", reason: "hung_up_by_api" }, 2);
    take(run, { type: "ended", leg: 1, ending: canceled }, 3);
    return !recipientOutcome(run.call)!.uncounted;
  };
  assert.equal(hungUp(), false);
  assert.equal(hungUp({ type: "ringing", leg: 1 }), true);
  const crossed: Run = { call: dialed({}), commands: [], menu: [] };
  take(crossed, { type: "hangup", reason: "hung_up_by_api" });
  take(crossed, { type: "answered", leg: 1 }, 2);
  take(crossed, { type: "ended", leg: 1, ending: hung_up }, 3);
  assert.deepEqual([crossed.call.cost, recipientOutcome(crossed.call)!.uncounted], [1, false]);
});

test("lets a recipient of the night wait by the hours that were read before the dial", () => {
  const hours = {
    time_zone: "Asia/Kolkata",
    night_calling: false,
    calling_from: "09:00",
    calling_to: "21:00",
    contact_time_zones: ["America/New_York"],
  };
  const withdrawn = { type: "withdrawn", leg: 1, blocker: "night_window", hours } as const;
  const { call } = runTransition(dialed({}), line, { ...withdrawn, at: at(1) })!;
  const { due_at, time_zones } = recipientOutcome(call)!;
  assert.deepEqual([due_at, time_zones], [new Date("2026-11-02T14:00:00Z"), "America/New_York"]);
});

test("does not call a recipient again whose call was hung up while its set-up failed", () => {
  const run: Run = { call: dialed({ attempts_max: 3 }), commands: [], menu: [] };
  take(run, { type: "hangup", reason: "hung_up_by_api" });
  take(run, { type: "withdrawn", leg: 1, blocker: "ai_agent_unavailable" }, 2);
  assert.deepEqual(
    [run.call.stage, run.call.ended_reason, run.call.ended_by, run.call.legs[0]!.status],
    ["ended", "hung_up_by_api", "api", "canceled"],
  );
  assert.equal(recipientOutcome(run.call)!.state, "cancelled");
});

test("lets a recipient who called in before the dial wait for a minute", () => {
  const withdrawn = { type: "withdrawn", leg: 1, blocker: "already_in_call", at: at(1) } as const;
  const { call } = runTransition(dialed({}), line, withdrawn)!;
  assert.deepEqual(recipientOutcome(call)!.due_at, at(61));
});

// Property tests over generated menus and events.
const names = ["main", "a", "b", "c"] as const;
const target = fc.constantFrom(...names, "bye");
const prompt = fc.constant(say("x {{pin}}"));
const asked = {
  prompt,
  invalid_prompt: fc.constantFrom(null, say("no")),
  timeout_seconds: fc.constant(5),
  tries: fc.integer({ min: 1, max: 3 }),
  otherwise: target,
};
const anyNode: fc.Arbitrary<MenuNode> = fc.oneof(
  fc.record({ type: fc.constant("play" as const), prompt, next: target }),
  fc.record({
    type: fc.constant("menu" as const),
    keys: fc.dictionary(fc.constantFrom("1", "2", "#"), target),
    ...asked,
  }),
  fc.record({
    type: fc.constant("capture" as const),
    variable: fc.constant("pin"),
    min_digits: fc.integer({ min: 0, max: 2 }),
    max_digits: fc.integer({ min: 2, max: 4 }),
    next: target,
    ...asked,
  }),
  fc.record({
    type: fc.constant("record" as const),
    prompt,
    max_seconds: fc.constant(9),
    silence_seconds: fc.constant(2),
    next: target,
  }),
  fc.record({
    type: fc.constant("transfer" as const),
    prompt: fc.constantFrom(null, say("hold")),
    to: fc.constant({ extension: "101" }),
    // Menu validation rejects a loop that waits for no key.
    otherwise: fc.constant("bye"),
  }),
  fc.record({ type: fc.constant("opt_out" as const), prompt: fc.constantFrom(null, say("ok")) }),
);
const anyMenu: fc.Arbitrary<Menu> = fc
  .tuple(anyNode, anyNode, anyNode, anyNode)
  .map(([main, a, b, c]) => ({ start: "main", nodes: { main, a, b, c, bye } }));
const anyVoice: fc.Arbitrary<Partial<VoiceCallPlan>> = fc.record({
  content: fc.oneof(
    anyMenu.map((one) => ({ call_type: "obd_ivr" as const, menu: one })),
    fc.constantFrom(ai.content!, { call_type: "obd_voice_call", prompt: say("x") } as const),
  ),
  opt_out_key: fc.constantFrom(null, "2"),
  answering_machine: fc.constantFrom("off", "play", "hang_up", "retry"),
  attempts_max: fc.integer({ min: 1, max: 3 }),
});
/** Events that the leader and the switch may report next, mostly of the current visit. */
const anyKind = fc.oneof(
  fc.constantFrom(
    "played",
    "not_played",
    "timeout",
    "message",
    "recorded",
    "answered",
    "ended",
    "hangup",
    "lost",
    "end_call",
    "opt_out",
    "transfer",
    "found",
    "not_found",
    "detected",
  ),
  fc.constantFrom("1", "2", "#", "*", "7"),
);

function takeAny(run: Run, kind: string, leg: number): void {
  const { position } = run.call;
  const visit = position?.visit ?? 0;
  switch (kind) {
    case "played":
    case "not_played":
      return void take(run, {
        type: "played",
        leg: 1,
        playback: playbackName(run.call, visit),
        ok: kind === "played",
      });
    case "timeout":
      return void take(run, { type: "timeout", visit });
    case "message":
      return void take(run, { type: "message", recording: messageName(run.call, visit), ok: true });
    case "recorded":
      return void take(run, { type: "recorded", ok: true });
    case "answered":
      return void take(run, { type: "answered", leg });
    case "ended":
      return void take(run, { type: "ended", leg, ending: hung_up });
    case "hangup":
      return void take(run, { type: "hangup", reason: "hung_up_by_api" });
    case "lost":
      return void take(run, { type: "conversation_ended", reason: "lost" });
    case "end_call":
    case "opt_out":
      return void take(run, { type: "tool", tool: { name: kind } });
    case "transfer":
      return void take(run, { type: "transfer_requested", by: "api", to: agent("103") });
    case "found":
      return void take(run, { type: "agent_found", to: agent("102") });
    case "not_found":
      return void take(run, { type: "agent_found", to: null });
    case "detected":
      return void take(run, { type: "detected", leg: 1, answered_by: "machine" });
    default:
      return void take(run, { type: "digit", leg, digit: kind });
  }
}

test("any sequence of events: a voice call only goes forward, ends once, closes its AI agent and gives its recipient one state", () => {
  const anyEvents = fc.array(fc.tuple(anyKind, fc.integer({ min: 1, max: 4 })), {
    maxLength: 40,
    size: "max",
  });
  fc.assert(
    fc.property(anyVoice, anyEvents, (voice, events) => {
      const run = answer(voice);
      let open = 0;
      const look = () => {
        for (const command of run.commands) {
          if (command.type === "converse") open += 1;
          if (command.type === "end_conversation") open -= 1;
          if (command.type === "dial")
            assert.ok(liveLegs(run.call).some(({ id }) => id === command.leg));
        }
        assert.ok(open === 0 || open === 1);
        // Another node leader can take the call over at any time.
        resumeCommands(run.call);
      };
      look();
      for (const [kind, leg] of events) {
        const before = run.call;
        takeAny(run, kind, Math.min(leg, before.legs.length));
        assert.ok(stages.indexOf(run.call.stage) >= stages.indexOf(before.stage));
        look();
      }
      for (let i = 0; i < 9 && run.call.stage !== "ended"; i++) {
        for (const { id } of liveLegs(run.call)) {
          take(run, { type: "ended", leg: id, ending: hung_up }, 60);
          look();
        }
        take(run, { type: "recorded", ok: true }, 60);
        look();
      }
      assert.equal(run.call.stage, "ended");
      assert.equal(open, 0, "the AI agent was not closed");
      const after = recipientOutcome(run.call)!;
      assert.equal(after.state === "waiting", after.due_at !== null);
      if (run.call.opted_out) assert.notEqual(after.state, "waiting");
    }),
    { numRuns: 500 },
  );
});
