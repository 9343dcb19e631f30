// Calls with AI agents and menus on the sandbox, whose AI agent, text-to-speech or caller goes away.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { talking_agent } from "../../../test/support/ai-agent-plan.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { leadNodes, openCallClient, type CallClient } from "../../../test/support/call-client.ts";
import { checkCalls, checkVoiceCampaigns } from "../../../test/support/check-invariants.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startRealtimeStub, type RealtimeStub } from "../../../test/support/realtime-stub.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  makeNode,
  makePhoneNumber,
  makeSandboxTrunk,
  makeTrunk,
  setCalling,
} from "../../../test/support/telephony-factory.ts";
import { toneSpeech } from "../../../test/support/tone-speech.ts";
import { makeFullVoiceFile } from "../../../test/support/voice-file-factory.ts";
import { makeVoiceCampaign, type TestVoiceCampaign } from "../../../test/support/voice-factory.ts";
import type { AiAgentPlan } from "../../drivers/ai-agent/driver.ts";
import { openRealtimeDriver } from "../../drivers/ai-agent/realtime/open-realtime-driver.ts";
import { openScriptedDriver } from "../../drivers/ai-agent/scripted/open-scripted-driver.ts";
import { SpeechError, type SpeechDriver } from "../../drivers/speech/driver.ts";
import { openSandboxVoiceDriver } from "../../drivers/voice/sandbox/open-sandbox-driver.ts";
import { VoiceError, type VoiceEvent, type VoiceSession } from "../../drivers/voice/driver.ts";
import { openLog } from "../../lib/log.ts";
import type { VoiceContent } from "../state-machine/voice-plan.ts";

const pace = 10;
const sandbox = openSandboxVoiceDriver({ pace });
/** The session that dialed each leg: a test has a node of its own. */
const session_of = new Map<string, VoiceSession>();
let dialed: string[] = [];
/** Passes an event to the node leader. */
let emit: (event: VoiceEvent) => void = () => {};
let onSwitchEvent: (event: VoiceEvent) => void = () => {};
let isSpeechBroken = false;
/** Runs before a text is synthesized. */
let beforeSynthesis = async (_text: string) => {};
/** The failures of the next requests to record. */
let recordFailures: VoiceError[] = [];
/** The recordings that have begun. */
let recordings: string[] = [];
let playedAudio: string[] = [];
/** The texts that were synthesized, with their languages. */
let synthesized: string[] = [];
const speech: { -readonly [Key in keyof SpeechDriver]: SpeechDriver[Key] } = {
  ...toneSpeech,
  async synthesize(utterance) {
    await beforeSynthesis(utterance.text);
    if (isSpeechBroken) throw new SpeechError("failed", "no synthesizer");
    synthesized.push(`${utterance.language}: ${utterance.text}`);
    return toneSpeech.synthesize(utterance);
  },
};

let stub: RealtimeStub;
let api: TestApi;
let client: CallClient;
let trunk_id: number;
let sandbox_node_id: number;
let leaders: { stop(): Promise<void> };

before(async () => {
  stub = await startRealtimeStub();
  const voice: typeof sandbox = {
    ...sandbox,
    open(node, onEvent, maySend) {
      emit = onEvent;
      const opened = sandbox.open(
        node,
        (event) => {
          onSwitchEvent(event);
          onEvent(event);
        },
        maySend,
      );
      const session: VoiceSession = {
        ...opened,
        dial(leg) {
          dialed.push(leg.to.number);
          session_of.set(leg.leg, session);
          return opened.dial(leg);
        },
        async record(bridge, recording) {
          const failure = recordFailures.shift();
          if (failure) throw failure;
          await opened.record(bridge, recording);
          recordings.push(recording);
        },
        play(leg, playback, audio) {
          playedAudio.push(audio.name);
          return opened.play(leg, playback, audio);
        },
      };
      return session;
    },
  };
  const log = openLog("silent", { readable: false });
  api = await startApi({
    voiceDrivers: { sandbox: voice },
    aiAgentDrivers: {
      scripted: openScriptedDriver({ speech }),
      realtime: openRealtimeDriver({
        url: stub.url,
        api_key: null,
        model: "gpt-test",
        transcription_model: "words",
        log,
      }),
    },
    speech,
  });
  client = await openCallClient(api, await makeCallingAccount(api.app));
  ({ trunk_id, node_id: sandbox_node_id } = await makeSandboxTrunk(api.app));
  leaders = leadNodes(api.app);
});
after(async () => {
  await leaders.stop();
  await sandbox.close();
  await api.close();
  await stub.close();
});
beforeEach(() => {
  stub.script({ reject: null, silent: false, answer: () => ({ say: "Good day." }) });
  isSpeechBroken = false;
  beforeSynthesis = async () => {};
  recordFailures = [];
  recordings = [];
  dialed = [];
  playedAudio = [];
  synthesized = [];
  onSwitchEvent = () => {};
});

const talk = (more: Partial<AiAgentPlan> = {}): VoiceContent => ({
  call_type: "ai_bot",
  agent: { ...talking_agent, ...more },
  transfer_to: null,
});

let numbers = 0;
/** The number of a phone that answers and never hangs up, or behaves as the code selects. */
function phone(code = "900"): string {
  numbers += 1;
  return `9${String(numbers).padStart(3, "0")}777${code}`;
}

async function launch(
  content: VoiceContent,
  people: readonly string[],
  more: Record<string, unknown> = {},
  variables: Record<string, string> | null = null,
): Promise<TestVoiceCampaign> {
  const plan = JSON.stringify({ content, opt_out_key: null, answering_machine: "off" });
  const campaign = { trunk_id, call_type: content.call_type, plan, ...more };
  const recipients = people.map((number) => ({ number, phone: `91${number}`, variables }));
  const made = await makeVoiceCampaign(api.app, client.account, { campaign, recipients });
  api.app.notifications.send("voice_work", String(trunk_id));
  return made;
}

async function stored({ id }: TestVoiceCampaign) {
  const [row] = await api.app.db.query
    .selectFrom("calls")
    .selectAll()
    .where("campaign_id", "=", id)
    .orderBy("id", "desc")
    .execute();
  return row;
}

async function states({ id }: TestVoiceCampaign): Promise<string[]> {
  const rows = await api.app.db.query
    .selectFrom("voice_recipients")
    .select(["state", "attempts"])
    .where("campaign_id", "=", id)
    .orderBy("id")
    .execute();
  return rows.map(({ state, attempts }) => `${state} ${attempts}`);
}

async function settled(campaign: TestVoiceCampaign, ...expected: string[]): Promise<void> {
  let last: string[] = [];
  await eventually(async () => {
    last = await states(campaign);
    return JSON.stringify(last) === JSON.stringify(expected);
  }).catch((error: unknown) => {
    throw new Error(`recipients are ${JSON.stringify(last)}`, { cause: error });
  });
  await checkCalls(api.app.db.pool);
  await checkVoiceCampaigns(api.app.db.pool);
}

/** Counts the calls that are to be recorded on leads. */
async function recordsForLeads(): Promise<number> {
  const jobs = api.app.db.query.selectFrom("jobs").select("id");
  return (await jobs.where("kind", "=", "crm.record_call").execute()).length;
}

/** Makes the only recipient due; returns when it would have been. Simulated phones use real time. */
async function makeDue({ id }: TestVoiceCampaign): Promise<Date> {
  const { query } = api.app.db;
  const { due_at } = await query
    .selectFrom("voice_recipients")
    .select("due_at")
    .where("campaign_id", "=", id)
    .executeTakeFirstOrThrow();
  await query
    .updateTable("voice_recipients")
    .set({ due_at: api.app.clock.now() })
    .where("campaign_id", "=", id)
    .execute();
  api.app.notifications.send("voice_work", String(trunk_id));
  return due_at;
}

/** The caller of the campaign's call hangs up. */
async function hangUp(campaign: TestVoiceCampaign): Promise<void> {
  const { account_id, id } = (await stored(campaign))!;
  const leg = `trk-${account_id}-${id}-1`;
  await session_of.get(leg)!.hangUp(leg);
}

async function record({ public_id, id }: TestVoiceCampaign) {
  const campaign = (await client.ask("GET", `/api/v1/voice/campaigns/${public_id}`)).body;
  return { campaign, calls: await client.callRecords(id) };
}

async function assertNeverCalledAgain(number: string): Promise<void> {
  const again = await launch(talk(), [number]);
  await settled(again, "suppressed 0");
  assert.equal(await stored(again), undefined);
}

test("a caller who asks a realtime AI agent for no more calls and hangs up during the goodbye is never called again", async () => {
  const number = phone();
  const campaign = await launch(talk(), [number], { max_retry: 3 });
  await eventually(async () => (await stored(campaign))?.stage === "talking");
  await eventually(() => stub.last().items.size === 1);
  const goodbye = { say: "We will not call you again. Goodbye.", tone_ms: 60_000 };
  stub.last().say({ ...goodbye, call: { name: "opt_out", args: {} } });
  await eventually(async () => (await stored(campaign))!.opted_out);
  await hangUp(campaign);
  await settled(campaign, "answered 1");
  const [call] = (await record(campaign)).calls;
  assert.deepEqual(
    [call.ended_reason, call.ended_by, call.opted_out],
    ["hung_up", "customer", true],
  );
  await assertNeverCalledAgain(number);
});

test("a caller who asks a scripted AI agent for no more calls and hangs up during the goodbye is never called again", async () => {
  const number = phone();
  const plan = talk({
    driver: "scripted",
    // oxlint-disable-next-line unicorn/no-thenable -- a field of the plan, not a function
    rules: [{ keys: "9", keywords: [], say: "Goodbye. ".repeat(400), then: "opt_out" }],
  });
  const campaign = await launch(plan, [number]);
  await eventually(async () => (await stored(campaign))?.stage === "talking");
  const { account_id, id } = (await stored(campaign))!;
  await eventually(async () => {
    const { rows } = await api.app.db.pool.query(
      "select from call_transcripts where call_id = $1",
      [id],
    );
    return rows.length > 0;
  });
  const leg = `trk-${account_id}-${id}-1`;
  emit({ type: "digit", leg, digit: "9", at: api.app.clock.now() });
  await eventually(async () => (await stored(campaign))!.opted_out);
  await hangUp(campaign);
  await settled(campaign, "answered 1");
  assert.equal((await record(campaign)).calls[0].ended_reason, "hung_up");
  await assertNeverCalledAgain(number);
});

test("a caller who hangs up before the AI agent has understood the request for no more calls is never called again", async () => {
  const number = phone();
  const campaign = await launch(talk(), [number], { max_retry: 3 });
  await eventually(async () => (await stored(campaign))?.stage === "talking");
  await eventually(() => stub.last().items.size === 1);
  const line = stub.last();
  // The model is about to respond to what the caller has said.
  line.send({ type: "input_audio_buffer.speech_started" });
  line.send({ type: "input_audio_buffer.speech_stopped" });
  await eventually(() => line.eventsOf("conversation.item.truncate").length > 0);
  await hangUp(campaign);
  await settled(campaign, "answered 1");
  line.say({ call: { name: "opt_out", args: {} } });
  await eventually(async () => (await record(campaign)).calls[0].opted_out);
  await assertNeverCalledAgain(number);
});

test("AI agents talk on while an operator changes the trunk and deactivates the node, which places no further call and is released after its last one", async () => {
  const { query } = api.app.db;
  const node_id = await makeNode(api.app, { connected: true });
  const own = await makeTrunk(api.app, [node_id], { limits: { calls_max: 1 } });
  const notify = () => api.app.notifications.send("call_work", `${node_id}:0`);
  const setActive = async (active: boolean) => {
    await query.updateTable("voice_nodes").set({ active }).where("id", "=", node_id).execute();
    notify();
  };
  const two = await launch(talk(), [phone(), phone()], { trunk_id: own });
  await eventually(async () => (await stored(two))?.stage === "talking");
  const first = stub.last();
  await eventually(() => first.items.size === 1);
  assert.equal(dialed.length, 1);

  const limits = { calls_max: 10 };
  await query.updateTable("trunk_nodes").set(limits).where("node_id", "=", node_id).execute();
  notify();
  await eventually(async () => dialed.length === 2 && (await stored(two))?.stage === "talking");
  const second = stub.last();
  await eventually(() => second.items.size === 1);
  await setActive(false);
  const waiting = await launch(talk(), [phone()], { trunk_id: own });
  for (const line of [first, second]) line.say(brief);
  await settled(two, "answered 1", "answered 1");
  for (const { ended_reason } of (await record(two)).calls)
    assert.equal(ended_reason, "ai_agent_ended");
  await eventually(async () => {
    const node = query.selectFrom("voice_nodes").select("connected_at").where("id", "=", node_id);
    return (await node.executeTakeFirstOrThrow()).connected_at === null;
  });
  assert.deepEqual(await states(waiting), ["waiting 0"]);

  stub.script({ answer: () => brief });
  await setActive(true);
  await settled(waiting, "answered 1");
});

/** Says a word and ends the call. */
const brief = { say: "Goodbye", tone_ms: 20, call: { name: "end_call", args: {} } };

test("places no call while the AI agent's server refuses sessions, reports it, and calls everyone once it accepts them", async () => {
  stub.script({ reject: 503, answer: () => brief });
  const campaign = await launch(talk(), [phone(), phone(), phone()]);
  await eventually(async () => (await record(campaign)).campaign.waiting_for === "ai_agent");
  assert.deepEqual(dialed, []);
  await settled(campaign, "waiting 0", "waiting 0", "waiting 0");
  const { calls } = await record(campaign);
  for (const { status, ended_reason, cost } of calls)
    assert.deepEqual([status, ended_reason, cost], ["canceled", "ai_agent_unavailable", 0]);
  stub.script({ reject: null });
  await settled(campaign, "answered 1", "answered 1", "answered 1");
  assert.equal(dialed.length, 3);
  assert.equal((await record(campaign)).campaign.cost, 3);
});

test("a call whose AI agent is lost before its first word is a failed attempt: retried and not charged", async () => {
  stub.script({
    answer() {
      stub.last().cut();
      return {};
    },
  });
  const campaign = await launch(talk(), [phone()], { max_retry: 1, retry_after_minutes: 5 });
  await settled(campaign, "waiting 1");
  const [call] = (await record(campaign)).calls;
  assert.deepEqual(
    [call.status, call.disposition, call.ended_reason, call.cost, call.billed_seconds],
    ["failed", "failed", "agent_lost", 0, 0],
  );
  assert.ok(call.answered_at);
  stub.script({ answer: () => brief });
  await makeDue(campaign);
  await settled(campaign, "answered 2");
  assert.equal((await record(campaign)).campaign.cost, 1);
});

test("an AI agent talks to a caller whose call the switch refuses to record", async () => {
  stub.script({ answer: () => brief });
  recordFailures = [new VoiceError("refused", "no space")];
  const campaign = await launch(talk(), [phone()]);
  await settled(campaign, "answered 1");
  const [call] = (await record(campaign)).calls;
  assert.deepEqual([call.ended_reason, call.recording_url], ["ai_agent_ended", null]);
  assert.equal((await stored(campaign))!.recording_state, "failed");
});

test("repeats a failed request to record an AI agent's call while the two talk", async () => {
  recordFailures = [1, 2].map(() => new VoiceError("unknown", "no response from the switch"));
  const campaign = await launch(talk(), [phone()]);
  await eventually(() => recordings.length === 1);
  assert.equal((await stored(campaign))!.stage, "talking");
  await eventually(() => stub.last().items.size === 1);
  stub.last().say(brief);
  await settled(campaign, "answered 1");
  assert.equal((await stored(campaign))!.recording_state, "ready");
});

test("sets up an AI agent again that is lost while the phone rings", async () => {
  stub.script({ answer: () => brief });
  let sessions = 0;
  onSwitchEvent = ({ type }) => {
    if (type !== "ringing") return;
    sessions = stub.connections.length;
    stub.last().cut();
  };
  const campaign = await launch(talk(), [phone()]);
  await settled(campaign, "answered 1");
  // On a busy machine, one that is not ready in time is set up once more.
  assert.ok(stub.connections.length > sessions);
  assert.equal((await record(campaign)).calls[0].ended_reason, "ai_agent_ended");
});

test("stops ringing when the AI agent is lost for good, as a failed attempt without a charge", async () => {
  onSwitchEvent = ({ type }) => {
    if (type !== "ringing") return;
    stub.script({ reject: 503 });
    stub.last().cut();
  };
  const campaign = await launch(talk(), [phone("480")]);
  await settled(campaign, "failed 1");
  const [call] = (await record(campaign)).calls;
  assert.deepEqual(
    [call.status, call.ended_reason, call.cost, call.answered_at],
    ["failed", "ai_agent_unavailable", 0, null],
  );
});

test("places no call of a menu or a scripted AI agent while a prompt cannot be synthesized", async () => {
  isSpeechBroken = true;
  const say = (text: string) => ({ say: text, language: "en" });
  const menu = await launch(
    {
      call_type: "obd_ivr",
      menu: {
        start: "main",
        nodes: {
          main: { type: "play", prompt: say("Welcome to our menu"), next: "bye" },
          bye: { type: "hang_up", prompt: say("Goodbye from our menu") },
        },
      },
    },
    [phone()],
  );
  const scripted = await launch(
    talk({
      driver: "scripted",
      greeting: "Hello once",
      fields: [{ key: "a", question: "A?" }],
      closing: "Bye",
    }),
    [phone()],
    {},
  );
  await eventually(async () => (await record(menu)).campaign.waiting_for === "speech");
  await eventually(async () => (await record(scripted)).campaign.waiting_for === "ai_agent");
  assert.deepEqual(dialed, []);
  isSpeechBroken = false;
  await eventually(async () => (await stored(scripted))?.stage === "talking");
  await hangUp(scripted);
  await eventually(async () => (await states(scripted))[0] === "answered 1");
  await settled(menu, "answered 1");
  assert.equal(dialed.length, 2);
});

test("dials only once the message for callers without an agent is ready, in the language of the AI agent", async () => {
  isSpeechBroken = true;
  const transfer_to = { extension: "101" };
  const content = { ...talk({ language: "hi-IN", may_transfer: true }), transfer_to };
  const campaign = await launch(content, [phone()]);
  await eventually(async () => (await record(campaign)).campaign.waiting_for === "speech");
  assert.deepEqual(dialed, []);
  isSpeechBroken = false;
  let before_dial: string[] = [];
  onSwitchEvent = () => {
    if (before_dial.length === 0) before_dial = [...synthesized];
  };
  await eventually(async () => (await stored(campaign))?.stage === "talking");
  assert.match(before_dial.join("\n"), /hi-IN: .* 1 दबाएँ।$/m);
  await hangUp(campaign);
  await settled(campaign, "answered 1");
});

test("a caller without an agent gets the account's own message, and fields set on the way to the hang-up are kept", async () => {
  const busy_voice_file_id = await makeFullVoiceFile(api.app, client.account);
  const set = async (calls: object) =>
    assert.equal((await client.ask("PATCH", "/api/v1/account", { calls })).status, 200);
  await set({ busy_voice_file_id });
  const to = { agent_group_id: await makeAgentGroup(api.app, client.account) };
  const menu = {
    start: "main",
    nodes: {
      main: { type: "transfer", prompt: null, to, otherwise: "missed" },
      missed: { type: "set_field", field: "missed", value: "yes", next: "bye" },
      bye: { type: "hang_up", prompt: null },
    },
  };
  const campaign = await launch({ call_type: "obd_ivr", menu } as VoiceContent, [phone()]);
  await settled(campaign, "answered 1");
  const { audio_name } = await api.app.db.query
    .selectFrom("voice_files")
    .select("audio_name")
    .where("id", "=", busy_voice_file_id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(playedAudio, [audio_name]);
  assert.deepEqual((await stored(campaign))!.lead_fields, { missed: "yes" });
  assert.equal((await record(campaign)).calls[0].disposition, "abandoned");
  await set({ busy_voice_file_id: null });
});

const goodbye = (text: string): VoiceContent => ({
  call_type: "obd_ivr",
  menu: {
    start: "bye",
    nodes: { bye: { type: "hang_up", prompt: { say: text, language: "en" } } },
  },
});

/** Makes text-to-speech refuse this text; returns the end of that. */
function refuseText(text: string): () => void {
  const { synthesize } = speech;
  speech.synthesize = (utterance) =>
    utterance.text === text
      ? Promise.reject(new SpeechError("failed", "it crashed"))
      : synthesize.call(speech, utterance);
  return () => void (speech.synthesize = synthesize);
}

test("fails a recipient whose prompt cannot be synthesized while others can, without a call or a lead, and a retry calls it", async () => {
  const repair = refuseText("poison");
  const number = phone();
  const more = { crm_workspace_id: client.account.workspace_id };
  const campaign = await launch(goodbye("{{word}}"), [number], more, { word: "poison" });
  await settled(campaign, "failed 0");
  assert.deepEqual(dialed, []);
  assert.equal(await recordsForLeads(), 0);
  assert.equal((await record(campaign)).calls[0].ended_reason, "speech_rejected");
  repair();
  const retried = await api.send("POST", `/api/v1/voice/campaigns/${campaign.id}/retry`, {
    token: client.account.token,
    json: {},
    headers: { "idempotency-key": "retry after the repair" },
  });
  assert.deepEqual([retried.status, retried.body.retried], [200, 1], retried.text);
  await settled(campaign, "answered 1");
  assert.deepEqual(dialed, [`91${number}`]);
  assert.equal(await recordsForLeads(), 1);
});

test("fails a recipient whose text a scripted AI agent cannot say although it can say others, and calls the others", async () => {
  const repair = refuseText("Hello poison");
  const scripted = talk({ driver: "scripted", greeting: "Hello {{word}}" });
  const campaign = await launch(scripted, [phone()], {}, { word: "poison" });
  await settled(campaign, "failed 0");
  assert.equal((await record(campaign)).calls[0].ended_reason, "speech_rejected");
  assert.deepEqual(dialed, []);
  const other = await launch(scripted, [phone()], {}, { word: "Asha" });
  await eventually(async () => (await stored(other))?.stage === "talking");
  await hangUp(other);
  await settled(other, "answered 1");
  repair();
});

test("calls no one while a prompt that is the same for every recipient cannot be synthesized, and everyone once it can", async () => {
  const repair = refuseText("poison for everyone");
  const people = Array.from({ length: 10 }, () => phone());
  const campaign = await launch(goodbye("poison for everyone"), people);
  await eventually(async () => (await record(campaign)).campaign.waiting_for === "speech");
  await settled(campaign, ...people.map(() => "waiting 0"));
  assert.deepEqual(dialed, []);
  repair();
  await settled(campaign, ...people.map(() => "answered 1"));
});

/** Makes the database refuse synthesized audio; returns how often it did, and the end of that. */
async function refuseAudio() {
  const { pool } = api.app.db;
  await pool.query(`
    create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$
      declare v_refusal bigint := nextval('refusals');
      begin raise exception 'refusal %', v_refusal; end $$;
    create trigger refuse before insert on voice_audio for each row execute function refuse()`);
  return {
    async isRefused() {
      const { rows } = await pool.query<{ is_called: boolean }>("select is_called from refusals");
      return rows[0]!.is_called;
    },
    allow: () => pool.query("drop function refuse cascade; drop sequence refusals"),
  };
}

test("calls a recipient although the database fails while the prompts are prepared", async () => {
  const audio = await refuseAudio();
  const campaign = await launch(goodbye("Goodbye after a failure"), [phone()]);
  await eventually(() => audio.isRefused());
  await audio.allow();
  await settled(campaign, "answered 1");
  assert.equal((await record(campaign)).calls.length, 1);
});

test("a recipient waits, uncounted, when prompts cannot be prepared for as long as the phone may ring", async () => {
  await setCalling(api.app, client.account, { customer_ring_seconds: 5 });
  const audio = await refuseAudio();
  const campaign = await launch(goodbye("Goodbye after many failures"), [phone()]);
  const first = async () => (await record(campaign)).calls[0];
  await eventually(async () => (await first())?.ended_reason === "speech_unavailable");
  assert.deepEqual(dialed, []);
  await audio.allow();
  await settled(campaign, "answered 1");
  assert.equal(dialed.length, 1);
  await setCalling(api.app, client.account, { customer_ring_seconds: 45 });
});

test("a realtime AI agent can only promise callbacks that are placed, and the call record says what became of each", async () => {
  const launched = api.app.clock.now();
  const campaign = await launch(talk(), [phone()]);
  await eventually(async () => (await stored(campaign))?.stage === "talking");
  const line = stub.last();
  await eventually(() => line.items.size === 1);
  const { session: settings } = line.eventsOf("session.update")[0] as {
    session: { instructions: string };
  };
  const now = api.app.clock.now();
  const dates = [launched, now].map((time) => time.toISOString().slice(0, 10));
  const { instructions } = settings;
  assert.ok(
    dates.some((date) => instructions.includes(date)),
    instructions,
  );
  const outputs = () =>
    line
      .eventsOf("conversation.item.create")
      .map(({ item }) => (item as { output: string }).output);
  const ask = async (ms: number) => {
    const asked = outputs().length;
    const at = new Date(now.getTime() + ms).toISOString();
    line.say({ call: { name: "schedule_callback", args: { at } } });
    await eventually(() => outputs().length > asked);
    return outputs().at(-1)!;
  };
  const day_ms = 86_400_000;
  assert.match(await ask(-day_ms), /must be in the future/);
  assert.match(await ask(91 * day_ms), /within 90 days/);
  assert.equal(await ask(day_ms), '{"ok":true}');
  line.say(brief);
  await settled(campaign, "waiting 1");
  const [first] = (await record(campaign)).calls;
  assert.deepEqual(
    [first.callback_at, first.callback_outcome],
    [new Date(now.getTime() + day_ms).toISOString(), "scheduled"],
  );
  stub.script({ answer: () => brief });
  const due_at = await makeDue(campaign);
  assert.equal(due_at.getTime(), now.getTime() + day_ms);
  await settled(campaign, "answered 2");
  assert.equal((await record(campaign)).calls[0].callback_outcome, "called");
});

test("the call record of a promised callback says when its campaign was cancelled", async () => {
  const campaign = await launch(talk(), [phone()]);
  await eventually(async () => (await stored(campaign))?.stage === "talking");
  const at = new Date(api.app.clock.now().getTime() + 3_600_000).toISOString();
  await eventually(() => stub.last().items.size === 1);
  stub.last().say({ call: { name: "schedule_callback", args: { at } } });
  await eventually(async () => (await stored(campaign))!.callback_at !== null);
  stub.last().say(brief);
  await settled(campaign, "waiting 1");
  await client.ask("POST", `/api/v1/voice/campaigns/${campaign.id}/cancel`);
  assert.equal((await record(campaign)).calls[0].callback_outcome, "campaign_ended");
});

test("a slow AI agent's server does not make a campaign claim more calls than its trunk's rate", async () => {
  stub.script({ silent: true, answer: () => brief });
  const node = await makeNode(api.app, { connected: true });
  const limits = { calls_per_second: 2, calls_max: 50 };
  const slow = await makeTrunk(api.app, [node], { limits });
  const first = stub.connections.length;
  const people = Array.from({ length: 6 }, () => phone());
  const campaign = await launch(talk(), people, { trunk_id: slow });
  const count = () => stub.connections.length - first;
  await eventually(() => count() >= 1);
  const began_ms = performance.now();
  await eventually(() => count() >= 4);
  assert.ok(performance.now() - began_ms > 1_000, "three calls at two per second");
  stub.script({ silent: false });
  for (const line of stub.connections.slice(first)) line.send({ type: "session.created" });
  await settled(campaign, ...people.map(() => "answered 1"));
});

test("does not call a recipient who calls in while the call is set up, and calls them once that call is over", async () => {
  const [number, called, text] = [phone(), "918000000960", "Good morning"];
  await makePhoneNumber(api.app, client.account, called);
  const agent_group_id = await makeAgentGroup(api.app, client.account, ["160"]);
  const routed = await client.ask("PATCH", `/api/v1/phone-numbers/${called}`, { agent_group_id });
  assert.equal(routed.status, 200, routed.text);
  let incoming = 0;
  beforeSynthesis = async (synthesizing) => {
    if (synthesizing !== text || incoming > 0) return;
    const node = { name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
    const at = { id: sandbox_node_id, ...node };
    void sandbox.receiveCall(at, { endpoint: "sandbox", from: `+91${number}`, to: called });
    await eventually(async () => {
      const { body } = await client.ask("GET", "/api/v1/calls?type=incoming&status=in-progress");
      incoming = body.data[0]?.call_id ?? 0;
      return incoming > 0;
    });
    api.clock.advance(1_000);
  };
  const content = { call_type: "obd_voice_call", prompt: { say: text, language: "en" } } as const;
  const campaign = await launch(content, [number]);
  await eventually(async () => (await stored(campaign))?.stage === "ended");
  const first = (await stored(campaign))!;
  assert.deepEqual([first.ended_reason, first.ringing_at], ["already_in_call", null]);
  assert.deepEqual(await states(campaign), ["waiting 0"]);
  assert.ok(!dialed.includes(`91${number}`));
  const hung_up = await client.ask("POST", `/api/v1/calls/${incoming}/hangup`);
  assert.equal(hung_up.status, 200, hung_up.text);
  await eventually(async () => {
    const { body } = await client.ask("GET", `/api/v1/calls/${incoming}`);
    return body.ended_at !== null;
  });
  const due_at = await makeDue(campaign);
  assert.deepEqual(due_at, new Date(first.ended_at!.getTime() + 60_000));
  await settled(campaign, "answered 1");
  api.clock.release();
});
