import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import fc from "fast-check";
import pino from "pino";
import { eventually } from "../../../../test/support/eventually.ts";
import {
  startRealtimeStub,
  type RealtimeStub,
  type StubScript,
} from "../../../../test/support/realtime-stub.ts";
import { manualTimers } from "../../../lib/timers.ts";
import { openScriptedMedia } from "../../../../test/support/scripted-media.ts";
import { loudnessOf, pitchOf, silence, tone } from "../../../../test/support/tones.ts";
import { toneSynthesizer } from "../../../../test/support/tone-speech.ts";
import type { AiAgentEvent, AiAgentPlan, AiAgentSession, CallbackTerms } from "../driver.ts";
import { openRealtimeDriver, type RealtimeOptions } from "./open-realtime-driver.ts";

const api_key = "sk-very-secret";
const ready_ms = 15_000;
const stall_ms = 20_000;

const plan: AiAgentPlan = {
  driver: "realtime",
  language: "en-IN",
  greeting: 'Good "day"',
  instructions: "You sell tea.",
  model: null,
  voice: "marin",
  rules: [],
  fallback: "",
  closing: "",
  fields: [{ key: "city", question: "Where do you live?" }],
  may_transfer: true,
  silence_seconds: 1_000,
  max_seconds: 100_000,
};

let stub: RealtimeStub;
let sessions: AiAgentSession[] = [];
const usual: Partial<StubScript> = {
  answer: () => ({ say: "Good day." }),
  transcribe: () => "something",
  grant: (asked) => asked,
  silent: false,
  reject: null,
};

before(async () => {
  stub = await startRealtimeStub();
});
after(() => stub.close());
beforeEach(() => stub.script(usual));
afterEach(async () => {
  await Promise.all(sessions.map((session) => session.close()));
  sessions = [];
  assert.deepEqual(stub.violations(), []);
});

/** Opens a conversation with the stub. */
function converse(
  change: Partial<AiAgentPlan> = {},
  options: Partial<RealtimeOptions> = {},
  callbacks: CallbackTerms = { briefing: "It is Monday.", refuse: () => null },
) {
  const time = manualTimers();
  const media = openScriptedMedia(time);
  const events: AiAgentEvent[] = [];
  const log: string[] = [];
  const at = stub.connections.length;
  const driver = openRealtimeDriver({
    url: stub.url,
    api_key,
    model: "gpt-test",
    transcription_model: "gpt-transcribe-test",
    log: pino({ level: "trace" }, { write: (line: string) => void log.push(line) }),
    timers: time.timers,
    ...options,
  });
  const prepared = driver.prepare({ ...plan, ...change }, callbacks, toneSynthesizer);
  const session = prepared.start(media, (event) => void events.push(event));
  sessions.push(session);
  const said = (who: "agent" | "caller") =>
    events.flatMap((event) => (event.type === "said" && event.who === who ? event.text : []));
  return {
    time,
    media,
    session,
    events,
    said,
    log: () => log.join(""),
    tools: () => events.flatMap((event) => (event.type === "tool" ? event.tool : [])),
    isOver: () => events.some(({ type }) => type === "over"),
    /** Its connection to the stub. */
    async line() {
      await until(() => stub.connections.length > at);
      return stub.connections[at]!;
    },
    /** Waits until the AI agent has said this many utterances. */
    hasSaid: (count: number) => until(() => said("agent").length >= count),
  };
}

/** The outputs of function calls. */
function outputs(events: readonly Readonly<Record<string, unknown>>[]): unknown[] {
  return events.flatMap(({ item }) => {
    const { output } = item as { output?: string };
    return output === undefined ? [] : (JSON.parse(output) as unknown);
  });
}

test("sets up a session by its plan and greets the caller", async () => {
  const { line, hasSaid, said } = converse({ model: "gpt-own" });
  const { authorization, model, eventsOf } = await line();
  await hasSaid(1);
  assert.deepEqual([authorization, model], [`Bearer ${api_key}`, "gpt-own"]);
  const [update] = eventsOf("session.update");
  const { session } = update as {
    session: { instructions: string; tools: { name: string; parameters: unknown }[] } & Record<
      string,
      unknown
    >;
  };
  assert.match(session.instructions, /^You sell tea\..*en-IN.*\[pressed 1\].*It is Monday\.$/s);
  assert.deepEqual(session["output_modalities"], ["audio"]);
  assert.deepEqual(session["audio"], {
    input: {
      format: { type: "audio/pcmu" },
      transcription: { model: "gpt-transcribe-test", languages: ["en"] },
      turn_detection: {
        type: "server_vad",
        prefix_padding_ms: 300,
        silence_duration_ms: 500,
        create_response: true,
        interrupt_response: true,
      },
    },
    output: { format: { type: "audio/pcmu" }, voice: "marin" },
  });
  const tools = new Map(session.tools.map(({ name, parameters }) => [name, parameters]));
  assert.deepEqual(
    new Set(tools.keys()),
    new Set(["end_call", "opt_out", "schedule_callback", "transfer_to_agent", "set_lead_field"]),
  );
  assert.deepEqual(tools.get("set_lead_field"), {
    type: "object",
    properties: {
      field: { type: "string", enum: ["city"] },
      value: { type: "string", maxLength: 500 },
    },
    required: ["field", "value"],
    additionalProperties: false,
  });
  const [create, ...more] = eventsOf("response.create");
  const { instructions } = create!["response"] as { instructions: string };
  assert.ok(instructions.endsWith(JSON.stringify(plan.greeting)));
  assert.deepEqual(more, []);
  assert.deepEqual(said("agent"), ["Good day."]);
});

test("uses the server's defaults for unset options and offers only tools that apply", async () => {
  const { line, hasSaid } = converse(
    { voice: null, may_transfer: false, fields: [], greeting: "" },
    { api_key: null },
  );
  const { authorization, model, eventsOf } = await line();
  await hasSaid(1);
  assert.deepEqual([authorization, model], [null, "gpt-test"]);
  const { session } = eventsOf("session.update")[0] as {
    session: { tools: { name: string }[]; audio: { output: object } };
  };
  assert.ok(!("voice" in session.audio.output));
  const names = session.tools.map(({ name }) => name).toSorted();
  assert.deepEqual(names, ["end_call", "opt_out", "schedule_callback"]);
  assert.ok(!("response" in eventsOf("response.create")[0]!));
});

const grants: Readonly<Record<string, StubScript["grant"]>> = {
  "µ-law": (asked) => asked,
  "A-law": () => ({ type: "audio/pcma" }),
  "PCM, not requested": () => ({ type: "audio/pcm", rate: 24_000 }),
  "PCM, because µ-law is rejected": (asked) => (asked.type === "audio/pcm" ? asked : null),
};
for (const [name, grant] of Object.entries(grants)) {
  test(`passes audio both ways with the right pitch and length: ${name}`, () =>
    assertAudioBothWays(grant));
}

async function assertAudioBothWays(grant: StubScript["grant"]): Promise<void> {
  stub.script({ grant });
  const { line, hasSaid, media, time, isOver, events } = converse();
  await hasSaid(1);
  await until(() => media.queued_ms() > 980);
  const connection = await line();
  time.advance(2_000);
  assert.ok(Math.abs(media.played().length / 16 - 1_000) < 20);
  assert.ok(Math.abs(pitchOf(media.played()) - 440) < 15, `${pitchOf(media.played())} Hz`);
  assert.ok(loudnessOf(media.played()) > 4_000);
  media.sendAudio(tone(1_000));
  media.sendAudio(silence(1_000));
  await until(() => connection.audio_ms() > 1_980);
  assert.ok(connection.audio_ms() < 2_001, `${connection.audio_ms()} ms`);
  assert.ok(connection.loudest() > 4_000);
  await hasSaid(2);
  assert.ok(!isOver(), JSON.stringify(events));
}

test("fails on an audio format that is not supported", async () => {
  for (const grant of [() => ({ type: "audio/opus" }), () => ({ type: "audio/pcm", rate: 1 })]) {
    stub.script({ grant });
    const { isOver, events } = converse();
    await until(isOver);
    assert.deepEqual(events, [{ type: "over", reason: "failed" }]);
  }
  stub.script({ grant: () => null });
  const { isOver, events } = converse();
  await until(isOver);
  assert.deepEqual(events, [{ type: "over", reason: "failed" }]);
});

test("stops playback when the caller speaks, reports what was played to the server and drops late audio", async () => {
  stub.script({
    answer: ({ kind }) =>
      kind === "speech" ? {} : { say: "A long story", tone_ms: 3_000, held: true },
  });
  const { line, media, time, said } = converse();
  const connection = await line();
  await until(() => media.queued_ms() === 3_000);
  time.advance(1_200);
  connection.send({ type: "input_audio_buffer.speech_started" });
  await until(() => media.cuts() === 1);
  assert.equal(media.queued_ms(), 0);
  await until(() => connection.eventsOf("conversation.item.truncate").length > 0);
  await until(() => connection.eventsOf("response.cancel").length > 0);
  const [item] = [...connection.items.keys()];
  assert.equal(connection.items.get(item!)?.played_ms, 1_200);
  assert.deepEqual(said("agent"), ["A long story …"]);
  const [{ response_id }] = connection.eventsOf("response.cancel") as [{ response_id: string }];
  const place = { response_id, item_id: item, content_index: 0 };
  const delta = Buffer.alloc(800).toString("base64");
  connection.send({ type: "response.output_audio.delta", ...place, delta });
  connection.send({ type: "response.output_audio_transcript.done", ...place, transcript: "A lie" });
  // An error without consequence.
  connection.send({ type: "error", error: { code: "invalid_value", event_id: null } });
  connection.send({ type: "input_audio_buffer.speech_stopped" });
  connection.say({ say: "Yes?" });
  await until(() => said("agent").includes("Yes?"));
  assert.deepEqual(said("agent"), ["A long story …", "Yes?"]);
  assert.ok(media.queued_ms() <= 1_000);
  assert.equal(connection.eventsOf("conversation.item.truncate").length, 1);
});

/** The texts that were sent to the model in this role. */
function textsOf(events: readonly Readonly<Record<string, unknown>>[], role: string): string[] {
  return events.flatMap(({ item }) => {
    const sent = item as { role?: string; content?: [{ text: string }] };
    return sent.role === role ? [sent.content![0].text] : [];
  });
}

test("is silent while a caller speaks who began before a requested response was created, and greets the caller afterwards", async () => {
  stub.script({ answer: () => null });
  const { line, media, said, events } = converse();
  const connection = await line();
  await until(() => connection.eventsOf("response.create").length === 1);
  connection.send({ type: "input_audio_buffer.speech_started" });
  connection.say({ say: "Good day.", held: true });
  const texts = () => textsOf(connection.eventsOf("conversation.item.create"), "system");
  await until(() => texts().length === 1);
  assert.equal(connection.eventsOf("response.cancel").length, 1);
  assert.equal(media.queued_ms(), 0);
  assert.deepEqual(events, []);
  assert.ok(texts()[0]!.endsWith(JSON.stringify(plan.greeting)), texts()[0]);
  connection.send({ type: "input_audio_buffer.speech_stopped" });
  connection.say({ say: "Good day. Yes?", held: true });
  await until(() => media.queued_ms() === 1_000);
  // The greeting is not due again.
  connection.send({ type: "input_audio_buffer.speech_started" });
  await until(() => said("agent").length === 1);
  connection.send({ type: "input_audio_buffer.speech_stopped" });
  connection.say({ say: "As I said" });
  await until(() => said("agent").length === 2);
  assert.deepEqual(said("agent"), ["Good day. Yes? …", "As I said"]);
  assert.equal(texts().length, 1);
  assert.equal(connection.eventsOf("response.create").length, 1);
});

test("a key cancels a response that is not created yet, also if the caller then speaks", async () => {
  stub.script({ answer: () => null });
  const { line, session, media } = converse({ greeting: "" });
  const connection = await line();
  await until(() => connection.eventsOf("response.create").length === 1);
  session.digit("1");
  connection.send({ type: "input_audio_buffer.speech_started" });
  connection.send({ type: "input_audio_buffer.speech_stopped" });
  connection.say({ say: "Late", held: true });
  await until(() => connection.eventsOf("response.cancel").length === 1);
  connection.say({ say: "You pressed 1", tone_ms: 700, held: true });
  await until(() => media.queued_ms() > 0);
  await until(() => media.queued_ms() === 700);
  assert.deepEqual(textsOf(connection.eventsOf("conversation.item.create"), "system"), []);
});

test("reports for each queued item how much of it was played", async () => {
  const { line, media, time, hasSaid } = converse();
  const connection = await line();
  await hasSaid(1);
  for (const count of [2, 3]) {
    connection.say({ say: `Thing ${count}` });
    await hasSaid(count);
  }
  await until(() => media.queued_ms() === 3_000);
  time.advance(1_500);
  connection.send({ type: "input_audio_buffer.speech_started" });
  await until(() => connection.eventsOf("conversation.item.truncate").length === 2);
  const played = [...connection.items.values()].map(({ played_ms }) => played_ms);
  assert.deepEqual(played, [null, 500, 0]);
});

test("handles each function call once, with an output or an error text", async () => {
  const refuse = (at: Date) => (at.getUTCFullYear() < 2030 ? "at must be in the future" : null);
  const { line, tools, hasSaid } = converse({}, {}, { briefing: "", refuse });
  const connection = await line();
  await hasSaid(1);
  const asked = [
    ["set_lead_field", { field: "city", value: "Pune" }],
    ["set_lead_field", { field: "town", value: "Pune" }],
    ["set_lead_field", { field: "city", value: " " }],
    ["set_lead_field", { field: "city", value: ["Pune"] }],
    ["schedule_callback", { at: "2030-01-31T09:30:00+05:30" }],
    ["schedule_callback", { at: "2030-01-31T09:30:00" }],
    ["schedule_callback", { at: "2030-02-31T09:30:00Z" }],
    ["schedule_callback", { at: "2026-02-28T09:30:00Z" }],
    ["schedule_callback", "not JSON"],
    ["set_lead_field", "[]"],
    ["rm", {}],
  ] as const;
  for (const [index, [name, args]] of asked.entries()) {
    connection.say({ call: { name, args } });
    await until(
      () => outputs(connection.eventsOf("conversation.item.create")).length === index + 1,
    );
    await hasSaid(index + 2);
  }
  assert.deepEqual(tools(), [
    { name: "set_lead_field", field: "city", value: "Pune" },
    { name: "schedule_callback", at: "2030-01-31T09:30:00+05:30" },
  ]);
  const given = outputs(connection.eventsOf("conversation.item.create"));
  assert.deepEqual(given, [
    { ok: true },
    { error: "the field does not exist" },
    { error: "the value must have 1 to 500 characters" },
    { error: "the value must be text" },
    { ok: true },
    { error: "at must be a time with an offset, such as 2026-01-31T09:30:00+05:30" },
    { error: "at must be a date that exists" },
    { error: "at must be in the future" },
    { error: "the arguments must be a JSON object" },
    { error: "the arguments must be a JSON object" },
    { error: "the function does not exist" },
  ]);
});

test("a caller who speaks during the goodbye is not hung up on, and the model is notified", async () => {
  const { line, tools, media, hasSaid, isOver } = converse();
  const connection = await line();
  await hasSaid(1);
  connection.say({ say: "Goodbye", call: { name: "end_call", args: {} } });
  await hasSaid(2);
  connection.say({ say: "Really" });
  await hasSaid(3);
  connection.send({ type: "input_audio_buffer.speech_started" });
  await until(() => media.cuts() === 1);
  await until(() => outputs(connection.eventsOf("conversation.item.create")).length === 1);
  assert.deepEqual(outputs(connection.eventsOf("conversation.item.create")), [
    { error: "the caller has more to say" },
  ]);
  assert.deepEqual(tools(), []);
  assert.ok(!isOver());
  // After an opt-out the call ends at once.
  connection.say({ say: "As you wish", call: { name: "opt_out", args: {} } });
  connection.send({ type: "input_audio_buffer.speech_started" });
  await until(() => tools().length > 1);
  assert.deepEqual(tools(), [{ name: "opt_out" }, { name: "end_call" }]);
  await until(() => !connection.isOpen());
});

test("an opt-out without a word is confirmed before the call ends", async () => {
  stub.script({
    answer: ({ kind }) => ({ say: kind === "function" ? "We will not call again" : "Good day." }),
  });
  const { line, tools, media, time, hasSaid, said } = converse();
  const connection = await line();
  await hasSaid(1);
  time.advance(media.queued_ms());
  connection.say({ call: { name: "opt_out", args: {} } });
  await hasSaid(2);
  assert.deepEqual([said("agent")[1], tools()], ["We will not call again", [{ name: "opt_out" }]]);
  await until(() => {
    time.advance(media.queued_ms());
    return tools().length > 1;
  });
  assert.deepEqual(tools()[1], { name: "end_call" });
});

test("an opt-out counts in a response that the caller interrupts, and while the call is about to end", async () => {
  stub.script({ answer: () => ({ say: "Well", held: true, call: { name: "opt_out", args: {} } }) });
  const interrupted = converse();
  const line = await interrupted.line();
  await until(() => interrupted.media.queued_ms() > 0);
  line.send({ type: "input_audio_buffer.speech_started" });
  await until(() => line.eventsOf("response.cancel").length > 0);
  const { response_id } = line.eventsOf("response.cancel")[0] as { response_id: string };
  const type = "response.function_call_arguments.done";
  line.send({ type, response_id, call_id: "c1", name: "end_call", arguments: "{}" });
  line.send({ type, response_id, call_id: "c2", name: "opt_out", arguments: "{}" });
  await until(() => interrupted.tools().length > 0);
  assert.deepEqual(interrupted.tools(), [{ name: "opt_out" }]);

  stub.script({ answer: () => ({ say: "Goodbye", call: { name: "end_call", args: {} } }) });
  const ending = converse();
  await ending.hasSaid(1);
  (await ending.line()).say({ call: { name: "opt_out", args: {} } });
  await until(() => ending.tools().length > 0);
  assert.deepEqual(ending.tools(), [{ name: "opt_out" }]);
});

test("understands a caller who asks for no more calls and hangs up while speaking", async () => {
  stub.script({
    answer: ({ kind }) =>
      kind === "speech" ? { call: { name: "opt_out", args: {} } } : { say: "Good day." },
    transcribe: () => "stop calling me",
  });
  const { line, media, hasSaid, events } = converse();
  const connection = await line();
  await hasSaid(1);
  media.sendAudio(tone(600));
  await until(() => media.cuts() === 1 || connection.audio_ms() >= 580);
  await until(() => connection.eventsOf("conversation.item.truncate").length > 0);
  const emitted = events.length;
  media.end();
  await until(() => events.length > emitted);
  assert.deepEqual(events.slice(emitted), [{ type: "tool", tool: { name: "opt_out" } }]);
  await until(() => !connection.isOpen());
});

test("sets up the session before the call, starts it without delay, and reports a session that is lost", async () => {
  const open = (options: Partial<RealtimeOptions> = {}) =>
    openRealtimeDriver({
      url: stub.url,
      api_key,
      model: "gpt-test",
      transcription_model: "words",
      log: pino({ level: "silent" }),
      ...options,
    }).prepare(plan, { briefing: "", refuse: () => null }, toneSynthesizer);
  const prepared = open();
  assert.equal(await prepared.ready(), null);
  assert.equal(stub.last().eventsOf("response.create").length, 0);
  const time = manualTimers();
  const events: AiAgentEvent[] = [];
  sessions.push(prepared.start(openScriptedMedia(time), (event) => void events.push(event)));
  await until(() => events.some(({ type }) => type === "said"));
  assert.equal(events[0]!.type, "audible");

  const lost = open();
  assert.equal(await lost.ready(), null);
  stub.last().cut();
  await lost.lost;
  const late: AiAgentEvent[] = [];
  lost.start(openScriptedMedia(manualTimers()), (event) => void late.push(event));
  await until(() => late.length > 0);
  assert.deepEqual(late, [{ type: "over", reason: "failed" }]);

  stub.script({ reject: 503 });
  assert.match((await open().ready())!.reason, /could not be set up/);
});

test("passes a key to the model as text, and it responds after the response in progress", async () => {
  stub.script({ silent: true });
  const { line, session, media, said } = converse();
  const connection = await line();
  // Before the session is set up.
  session.digit("7");
  stub.script({ silent: false, answer: () => ({ say: "Once", held: true }) });
  connection.send({ type: "session.created" });
  await until(() => media.queued_ms() > 0);
  const texts = () =>
    connection
      .eventsOf("conversation.item.create")
      .map(({ item }) => (item as { content: [{ text: string }] }).content[0].text);
  assert.deepEqual(texts(), ["[pressed 7]"]);
  stub.script({ answer: ({ text }) => ({ say: `Received ${text}` }) });
  session.digit("1");
  session.digit("2");
  await until(() => said("agent").some((text) => text.startsWith("Received [pressed 2]")));
  assert.deepEqual(texts(), ["[pressed 7]", "[pressed 1]", "[pressed 2]"]);
  assert.deepEqual(said("caller"), ["pressed 7", "pressed 1", "pressed 2"]);
});

test("responds to a key whose request is rejected because the server had begun a response by itself", async () => {
  stub.script({ answer: ({ kind }) => (kind === "instructions" ? { say: "Good day." } : null) });
  const { line, session, said } = converse();
  const connection = await line();
  const requests = () => connection.eventsOf("response.create");
  await until(() => said("agent").length === 1);
  connection.send({
    type: "conversation.item.input_audio_transcription.completed",
    transcript: "hello",
  });
  // By now the greeting has ended.
  await until(() => said("caller").length === 1);
  session.digit("1");
  await until(() => requests().length === 2);
  connection.say({ say: "Hello.", held: true });
  const code = "conversation_already_has_active_response";
  connection.send({ type: "error", error: { code, event_id: requests()[1]!["event_id"] } });
  stub.script({ answer: ({ text }) => ({ say: `Received ${text}` }) });
  connection.release();
  await until(() => said("agent").includes("Received [pressed 1]"));
  assert.equal(requests().length, 3);
});

test("repeats a greeting whose response failed, after a delay; a key pressed meanwhile is answered after it", async () => {
  const failOnce = async () => {
    stub.script({ answer: () => ({ fails: true }) });
    const opened = converse();
    const connection = await opened.line();
    const requests = () => connection.eventsOf("response.create");
    const transcript = async () => {
      const type = "conversation.item.input_audio_transcription.completed";
      const count = opened.said("caller").length;
      connection.send({ type, transcript: "hello" });
      await until(() => opened.said("caller").length > count);
    };
    await until(() => requests().length === 1);
    // By now the failure has arrived.
    await transcript();
    stub.script(usual);
    return { ...opened, connection, requests, transcript };
  };
  const repeated = await failOnce();
  repeated.time.advance(499);
  await repeated.transcript();
  assert.equal(repeated.requests().length, 1);
  repeated.time.advance(1);
  await repeated.hasSaid(1);
  const [first, second] = repeated.requests();
  assert.match(JSON.stringify(first!["response"]), /Say exactly this/);
  assert.deepEqual(second!["response"], first!["response"]);

  const pressed = await failOnce();
  pressed.session.digit("1");
  await pressed.hasSaid(1);
  const texts = pressed.connection
    .eventsOf("conversation.item.create")
    .map(({ item }) => (item as { content: [{ text: string }] }).content[0].text);
  assert.match(texts[0]!, /Begin your next response with exactly this.*Good/);
  assert.deepEqual(texts.slice(1), ["[pressed 1]"]);
  pressed.time.advance(5_000);
  await pressed.transcript();
  assert.equal(pressed.requests().length, 2);
});

test("fails with a logged reason when the server is silent, stalls or keeps failing", async () => {
  stub.script({ silent: true });
  const silent = converse();
  await silent.line();
  silent.time.advance(ready_ms - 1);
  assert.deepEqual(silent.events, []);
  silent.time.advance(1);
  assert.deepEqual(silent.events, [{ type: "over", reason: "failed" }]);
  assert.match(silent.log(), /not set up in time/);

  stub.script({ silent: false, answer: () => ({ say: "Well", held: true }) });
  const stalling = converse();
  await until(() => stalling.media.queued_ms() === 1_000);
  stalling.time.advance(stall_ms - 1);
  assert.ok(!stalling.isOver());
  stalling.time.advance(1);
  assert.deepEqual(stalling.events.at(-1), { type: "over", reason: "failed" });

  stub.script({ answer: () => ({ fails: true }) });
  const failing = converse();
  await until(() => {
    failing.time.advance(100);
    return failing.isOver();
  });
  assert.deepEqual(failing.events, [{ type: "over", reason: "failed" }]);
  assert.equal((await failing.line()).eventsOf("response.create").length, 3);
});

test("fails when the server rejects, disconnects or sends too much, and never logs the API key", async () => {
  stub.script({ reject: 401 });
  const refused = converse();
  await until(refused.isOver);
  assert.match(refused.log(), /401/);
  const absent = converse({}, { url: "ws://127.0.0.1:1/v1" });
  await until(absent.isOver);

  stub.script({ reject: null });
  const ends = [
    (line: Awaited<ReturnType<typeof refused.line>>) => line.cut(),
    (line: Awaited<ReturnType<typeof refused.line>>) => line.close(1011),
    (line: Awaited<ReturnType<typeof refused.line>>) => line.send(`"${"x".repeat(5_000_000)}"`),
  ];
  const ended = [];
  for (const end of ends) {
    const conversation = converse();
    await conversation.hasSaid(1);
    end(await conversation.line());
    await until(conversation.isOver);
    ended.push(conversation);
  }
  for (const { events, media, log } of [refused, absent, ...ended]) {
    assert.deepEqual(events.at(-1), { type: "over", reason: "failed" });
    assert.equal(media.queued_ms(), 0);
    assert.ok(!log().includes(api_key));
  }
});

test("ends a session before the server would end it after an hour", async () => {
  const { hasSaid, time, events, isOver } = converse({ silence_seconds: 50_000 });
  await hasSaid(1);
  time.advance(3_569_999);
  assert.ok(!isOver());
  time.advance(1);
  assert.deepEqual(events.at(-1), { type: "over", reason: "too_long" });
});

test("counts the time for which the phone rang towards the hour", async () => {
  const time = manualTimers();
  const prepared = openRealtimeDriver({
    url: stub.url,
    api_key,
    model: "gpt-test",
    transcription_model: "words",
    log: pino({ level: "silent" }),
    timers: time.timers,
  }).prepare(
    { ...plan, silence_seconds: 50_000 },
    { briefing: "", refuse: () => null },
    toneSynthesizer,
  );
  assert.equal(await prepared.ready(), null);
  time.advance(45_000);
  const events: AiAgentEvent[] = [];
  sessions.push(prepared.start(openScriptedMedia(time), (event) => void events.push(event)));
  await until(() => events.some(({ type }) => type === "said"));
  time.advance(3_524_999);
  assert.ok(!events.some(({ type }) => type === "over"));
  time.advance(1);
  assert.deepEqual(events.at(-1), { type: "over", reason: "too_long" });
});

test("ends at most once, whatever the server sends", async () => {
  const id = fc.constantFrom("a", "b", "", 1, null);
  const type = fc.constantFrom(
    "session.created",
    "session.updated",
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "conversation.item.input_audio_transcription.completed",
    "response.created",
    "response.output_audio.delta",
    "response.output_audio_transcript.delta",
    "response.output_audio_transcript.done",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.done",
    "error",
    "toString",
    "__proto__",
  );
  const event = fc.record(
    {
      type,
      response_id: id,
      item_id: id,
      call_id: id,
      content_index: fc.constantFrom(0, 1, -1, "0", null),
      delta: fc.oneof(fc.base64String(), fc.anything()),
      transcript: fc.oneof(fc.string(), fc.anything()),
      name: fc.constantFrom("set_lead_field", "schedule_callback", "opt_out", "x", 1),
      arguments: fc.oneof(fc.json(), fc.anything()),
      session: fc.anything(),
      error: fc.oneof(fc.record({ code: fc.string(), event_id: id }), fc.anything()),
      item: fc.oneof(fc.record({ type: fc.constant("function_call"), call_id: id }), fc.anything()),
      response: fc.oneof(fc.record({ id, status: fc.string() }), fc.anything()),
    },
    { requiredKeys: ["type"] },
  );
  const message = fc.oneof(event.map(asJson), fc.json(), fc.string());
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 30 }), async (messages) => {
      const { line, hasSaid, events, isOver, said, tools } = converse();
      const connection = await line();
      await hasSaid(1);
      for (const one of messages) connection.send(one);
      const transcript = "the end of it";
      connection.send({
        type: "conversation.item.input_audio_transcription.completed",
        transcript,
      });
      await until(() => isOver() || tools().length > 0 || said("caller").includes(transcript));
      const ends = events.filter(({ type: kind }) => kind === "over");
      assert.ok(ends.length <= 1);
    }),
    { numRuns: 40 },
  );
});

function asJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "bigint" ? part.toString() : part,
  );
}

function until(holds: () => boolean): Promise<void> {
  return eventually(holds);
}
