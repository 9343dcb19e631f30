// Voice campaigns, from the worker to the far end: the audio that it receives, its speech and its keys.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Menu, MenuNode, Prompt } from "../../server/calls/state-machine/menu.ts";
import type { VoiceContent, VoicePlan } from "../../server/calls/state-machine/voice-plan.ts";
import { storeAudio } from "../../server/calls/audio/audio-files.ts";
import type { AiAgentPlan } from "../../server/drivers/ai-agent/driver.ts";
import { openRealtimeDriver } from "../../server/drivers/ai-agent/realtime/open-realtime-driver.ts";
import { openScriptedDriver } from "../../server/drivers/ai-agent/scripted/open-scripted-driver.ts";
import { openSpeech } from "../../server/drivers/speech/open-speech.ts";
import { openLog } from "../../server/lib/log.ts";
import { default_settings, startWorker, type BackgroundWork } from "../../server/worker.ts";
import {
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
} from "../support/asterisk-fixture.ts";
import type { CallClient } from "../support/call-client.ts";
import { makeTrunk } from "../support/telephony-factory.ts";
import { eventually } from "../support/eventually.ts";
import { readWav } from "../support/read-wav.ts";
import { startRealtimeStub, type RealtimeStub } from "../support/realtime-stub.ts";
import { farEnd, refusing } from "../support/sipp/outcomes.ts";
import { openScriptedPhone, type ScriptedPhone } from "../support/scripted-phone.ts";
import { silence, tone } from "../support/tones.ts";
import {
  makeVoiceCampaign,
  type RecipientToMake,
  type TestVoiceCampaign,
} from "../support/voice-factory.ts";

const patience_s = 180;
/** Longer than any test: if later audio plays, this one was stopped. */
const endless_ms = 300_000;
/** Generous leases: a busy machine must not lose the node's lease. */
const settings = {
  ...default_settings,
  leases: { lease_ms: 120_000, renew_ms: 2_000, margin_ms: 4_000 },
};

let fixture: AsteriskFixture;
let stub: RealtimeStub;
let client: CallClient;
let worker: BackgroundWork;
const phones: ScriptedPhone[] = [];

before(async () => {
  stub = await startRealtimeStub();
  const speech = openSpeech({ speech_command: null, speech_recognize_command: null });
  fixture = await openAsteriskFixture({
    speech,
    aiAgentDrivers: {
      scripted: openScriptedDriver({ speech }),
      realtime: openRealtimeDriver({
        url: stub.url,
        api_key: null,
        model: "stub",
        transcription_model: "words",
        log: openLog("silent"),
        timeouts: { ready_ms: patience_s * 1_000, stall_ms: patience_s * 1_000 },
      }),
    },
    // An AI agent's call ends with the connection: a busy machine must not lose it.
    driver: { ping_ms: 30_000, request_timeout_ms: 60_000 },
  });
  client = await fixture.client({ customer_ring_seconds: 10 });
  worker = startWorker(fixture.app, settings);
});
after(async () => {
  await worker.stop();
  await fixture.close();
  await Promise.all([...phones.map((phone) => phone.close()), stub.close()]);
});

async function openPhone(): Promise<ScriptedPhone> {
  const phone = await openScriptedPhone();
  phones.push(phone);
  return phone;
}

let count = 0;
/** Returns a unique number with the same far-end behavior. */
function uniqueNumber(number: string): string {
  count += 1;
  return number.replace(/0{3}$/, String(count).padStart(3, "0"));
}

function to(number: string, more: Partial<RecipientToMake> = {}): RecipientToMake {
  return { number, phone: `91${number}`, ...more };
}

async function audio(hz: number, ms: number): Promise<Prompt> {
  const { db, clock } = fixture.app;
  const { account_id } = client.account;
  return { audio: await storeAudio(db.query, account_id, tone(ms, { hz }), clock.now()) };
}

async function launch(
  content: VoiceContent,
  recipients: readonly RecipientToMake[],
  { plan = {}, ...more }: { plan?: Partial<VoicePlan>; trunk_id?: number } = {},
): Promise<TestVoiceCampaign> {
  const whole: VoicePlan = { content, opt_out_key: "9", answering_machine: "off", ...plan };
  const campaign = await makeVoiceCampaign(fixture.app, client.account, {
    campaign: {
      trunk_id: fixture.trunk_id,
      call_type: content.call_type,
      plan: JSON.stringify(whole),
      ...more,
    },
    recipients,
  });
  fixture.app.notifications.send("voice_work", String(campaign.trunk_id));
  return campaign;
}

async function ask(method: string, path: string) {
  const { status, body, text } = await client.ask(method, path);
  assert.equal(status, 200, text);
  return body;
}

/** Waits until the campaign has finished and returns it with its counts, from the API. */
async function finished({ id }: TestVoiceCampaign) {
  // oxlint-disable-next-line typescript/no-explicit-any -- as CallClient.reports
  let campaign: any;
  await eventually(async () => {
    campaign = await ask("GET", `/api/v1/voice/campaigns/${id}`);
    return campaign.finished_at !== null;
  }, patience_s).catch(async (error: unknown) => {
    const reports = JSON.stringify(await client.callRecords(id));
    throw new Error(`${JSON.stringify(campaign)}: ${reports}`, { cause: error });
  });
  return campaign;
}

/** The states of the recipients, in order. */
async function states({ id }: TestVoiceCampaign): Promise<string[]> {
  const { data } = await ask("GET", `/api/v1/voice/campaigns/${id}/recipients?limit=100`);
  return data
    .toSorted((a: { id: number }, b: { id: number }) => a.id - b.id)
    .map(({ state }: { state: string }) => state);
}

type Position = { readonly call_id: number; readonly doing: string; readonly node: string | null };

/** Returns the position of the campaign's only call; null before it has one. */
async function callPosition({ id }: TestVoiceCampaign): Promise<Position | null> {
  const found = await fixture.app.db.query
    .selectFrom("calls")
    .select(["id", "position"])
    .where("account_id", "=", client.account.account_id)
    .where("campaign_id", "=", id)
    .executeTakeFirst();
  const position = found?.position as Omit<Position, "call_id"> | null | undefined;
  return position ? { ...position, call_id: found!.id } : null;
}

/** Waits until the campaign's only call reaches a position, and returns its ID. */
async function callReaches(
  campaign: TestVoiceCampaign,
  doing: string,
  node: string | null = null,
): Promise<number> {
  let found: Position | null = null;
  const isThere = async () => {
    found = await callPosition(campaign);
    return found?.doing === doing && (node === null || found.node === node);
  };
  await eventually(isThere, patience_s).catch((error: unknown) => {
    throw new Error(`no call is ${doing}: ${JSON.stringify(found)}`, { cause: error });
  });
  return found!.call_id;
}

/** Returns the menu nodes that the call visited, with the keys pressed. */
async function menuSteps(callId: number): Promise<string[]> {
  const steps = await fixture.app.db.query
    .selectFrom("call_menu_steps")
    .select(["node", "key"])
    .where("account_id", "=", client.account.account_id)
    .where("call_id", "=", callId)
    .orderBy("id")
    .execute();
  return steps.map(({ node, key }) => (key === null ? node : `${node} ${key}`));
}

async function transcriptOf(callId: number): Promise<string[]> {
  const lines = await fixture.app.db.query
    .selectFrom("call_transcripts")
    .select(["who", "text"])
    .where("account_id", "=", client.account.account_id)
    .where("call_id", "=", callId)
    .orderBy("id")
    .execute();
  return lines.map(({ who, text }) => `${who}: ${text}`);
}

async function leadFields(callId: number): Promise<unknown> {
  const { lead_fields } = await fixture.app.db.query
    .selectFrom("calls")
    .select("lead_fields")
    .where("account_id", "=", client.account.account_id)
    .where("id", "=", callId)
    .executeTakeFirstOrThrow();
  return lead_fields;
}

/** How far the calls to a number came. */
const callsTo = (number: string) =>
  fixture.app.db.query
    .selectFrom("calls")
    .select(["stage", "status", "position", "answered_at", "ended_at", "ended_reason"])
    .where("account_id", "=", client.account.account_id)
    .where("to_number", "=", number)
    .execute();

async function receivesAudio(phone: ScriptedPhone, hz?: number, ms = 100): Promise<void> {
  await eventually(() => phone.received_ms(hz) >= ms, patience_s).catch(async (error: unknown) => {
    const tones = phone.tones().join(", ");
    const received = `${phone.received_ms()} ms (${tones} Hz) in ${phone.packets()} packets`;
    const calls = JSON.stringify(await callsTo(phone.number));
    throw new Error(`it received ${received}; its calls: ${calls}`, { cause: error });
  });
}

/** Speaks repeatedly until `isTrue`, because audio may be lost on a busy machine. */
async function speaksUntil(
  phone: ScriptedPhone,
  hz: number,
  isTrue: Parameters<typeof eventually>[0],
): Promise<void> {
  const done = new AbortController();
  const speaking = async () => {
    while (!done.signal.aborted)
      await phone.say(Buffer.concat([tone(800, { hz }), silence(1_200)]));
  };
  const done_speaking = speaking();
  try {
    await eventually(isTrue, patience_s);
  } finally {
    done.abort();
    await done_speaking;
  }
}

/** Asserts two-way audio: the other party echoes what the phone says. */
async function assertEcho(phone: ScriptedPhone, hz: number): Promise<void> {
  const before_ms = phone.received_ms(hz);
  await speaksUntil(phone, hz, () => phone.received_ms(hz) >= before_ms + 200);
}

/** Returns the numbers of the INVITEs that the carrier received, in order. */
function invited(): string[] {
  const found = new Map<string, string>();
  for (const message of fixture.carrier.messages().split(/^-{20,} /m)) {
    const number = /^INVITE sip:\+?91([0-9]{10})@/m.exec(message)?.[1];
    const call = /^Call-ID: *(.*)$/im.exec(message)?.[1];
    if (number !== undefined && call !== undefined) found.set(call, number);
  }
  return [...found.values()];
}

const legsOf = (report: { legs: { role: string; number: string; status: string }[] }) =>
  report.legs.map(({ role, number, status }) => `${role} ${number} ${status}`);

const asha = JSON.stringify({ name: "Asha" });
const realtime: AiAgentPlan = {
  driver: "realtime",
  language: "en",
  greeting: "Good day, {{name}}",
  instructions: "You sell sound.",
  model: null,
  voice: null,
  rules: [],
  fallback: "Pardon?",
  closing: "",
  fields: [{ key: "interest", question: "What are you interested in?" }],
  may_transfer: true,
  silence_seconds: 120,
  max_seconds: 600,
};
const scripted: AiAgentPlan = {
  ...realtime,
  driver: "scripted",
  rules: [
    {
      keys: "1",
      keywords: [],
      say: "Thank you.",
      set: { field: "interest", value: "yes" },
      // oxlint-disable-next-line unicorn/no-thenable -- a field of the plan, not a function
      then: "end",
    },
  ],
  fields: [],
};
const talkOf = (agent: AiAgentPlan, extension: string | null): VoiceContent => ({
  call_type: "ai_bot",
  agent,
  transfer_to: extension === null ? null : { extension },
});
const menuOf = (start: string, nodes: Menu["nodes"]): VoiceContent => ({
  call_type: "obd_ivr",
  menu: { start, nodes },
});
const bye: MenuNode = { type: "hang_up", prompt: null };

suite("voice campaigns on Asterisk", { concurrency: true }, () => {
  test("audio plays to recipients who answer, the opt-out key suppresses its caller, and only answered calls count as reached", async () => {
    const [listens, opts_out] = [await openPhone(), await openPhone()];
    const numbers = [listens.number, uniqueNumber(refusing(486)), uniqueNumber(refusing(603))];
    numbers.push(uniqueNumber(refusing(404)), uniqueNumber(farEnd("rings_on")));
    const prompt = await audio(500, 2_000);
    const plays = await launch(
      { call_type: "obd_voice_call", prompt },
      numbers.map((number) => to(number)),
    );
    const long = await audio(700, endless_ms);
    const opt_out = await launch({ call_type: "obd_voice_call", prompt: long }, [
      to(opts_out.number),
    ]);
    await receivesAudio(opts_out, 700);
    await opts_out.press("9");

    const result = await finished(plays);
    assert.deepEqual(await states(plays), ["answered", "busy", "busy", "failed", "no_answer"]);
    const { total, pending, answered, busy, failed, no_answer, attempts, cost } = result;
    assert.deepEqual(
      { total, pending, answered, busy, failed, no_answer, attempts, cost },
      { total: 5, pending: 0, answered: 1, busy: 2, failed: 1, no_answer: 1, attempts: 5, cost: 1 },
    );
    assert.equal(result.status, "completed");
    const received_ms = listens.received_ms(500);
    assert.ok(received_ms > 1_000 && received_ms <= 2_100, `${received_ms} ms`);
    const reports = await client.callRecords(plays.id);
    assert.deepEqual(
      reports.map(({ disposition, ended_reason }) => `${disposition} ${ended_reason}`).toSorted(),
      [
        "answered played",
        "busy customer_busy",
        "declined customer_declined",
        "no_answer customer_no_answer",
        "unallocated customer_unallocated",
      ],
    );
    await finished(opt_out);
    const [report] = await client.callRecords(opt_out.id);
    assert.deepEqual([report.disposition, report.ended_reason], ["answered", "opted_out"]);
    const again = await launch({ call_type: "obd_voice_call", prompt }, [to(opts_out.number)]);
    await finished(again);
    assert.deepEqual(await states(again), ["suppressed"]);
    for (const number of [...numbers, opts_out.number])
      assert.equal(invited().filter((one) => one === number).length, 1, number);
  });

  test("a key that the caller presses when the message is already over still counts", async () => {
    const prompt = await audio(500, 2_000);
    let report: Awaited<ReturnType<CallClient["awaitCall"]>> = {};
    // On a busy machine the key may come after the call.
    for (let tries = 0; tries < 5 && report.dtmf !== "9"; tries++) {
      const phone = await openPhone();
      const campaign = await launch({ call_type: "obd_voice_call", prompt }, [to(phone.number)]);
      await eventually(async () => {
        const { doing } = (await callPosition(campaign)) ?? {};
        const { finished_at } = await ask("GET", `/api/v1/voice/campaigns/${campaign.id}`);
        return doing === "listening" || finished_at !== null;
      }, patience_s);
      // A busy machine loses some of it.
      assert.ok(phone.received_ms(500) > 1_000, "the whole message");
      await phone.press("9");
      await finished(campaign);
      [report] = await client.callRecords(campaign.id);
    }
    // A key that comes while the call is hung up does not change its reason.
    assert.match(report.ended_reason, /^(opted_out|played)$/);
    assert.deepEqual([report.dtmf, report.opted_out], ["9", true]);
  });

  test("with the action `hang_up`, machines are hung up on and the audio plays to everyone else", async () => {
    const prompt = await audio(500, 300);
    // On a busy machine, some greetings have gaps and are not detected.
    await eventually(async () => (await callMachines(prompt)).includes("machine"), patience_s);
  });

  /** Calls three machines and a person, checks the calls, and returns the states of the machines. */
  const callMachines = async (prompt: Prompt): Promise<readonly string[]> => {
    const numbers = [farEnd("greets_long"), farEnd("greets_long"), farEnd("greets_long")];
    numbers.push(farEnd("says_hello"));
    const campaign = await launch(
      { call_type: "obd_voice_call", prompt },
      numbers.map((number) => to(uniqueNumber(number))),
      { plan: { answering_machine: "hang_up" } },
    );
    await finished(campaign);
    const calls = await fixture.app.db.query
      .selectFrom("calls")
      .select(["answered_by", "disposition", "ended_reason"])
      .where("account_id", "=", client.account.account_id)
      .where("campaign_id", "=", campaign.id)
      .orderBy("recipient_id")
      .execute();
    const found = await states(campaign);
    for (const [i, { answered_by, disposition, ended_reason }] of calls.entries()) {
      const expected =
        answered_by === "machine"
          ? ["machine", "machine", "answering_machine"]
          : ["answered", "answered", "played"];
      assert.deepEqual([found[i], disposition, ended_reason], expected);
    }
    return found.slice(0, 3);
  };

  test("the script is synthesized and played with each recipient's own values", async () => {
    const long = "Anasuya Venkataraghavan Subramaniam of the Coromandel Trading Company";
    const [short_name, long_name] = [await openPhone(), await openPhone()];
    const called = (phone: ScriptedPhone, name: string) =>
      to(phone.number, { state: "synthesizing", variables: JSON.stringify({ name }) });
    const campaign = await launch(
      { call_type: "obd_smartvoice", script: "Hello {{name}}.", language: "en" },
      [called(short_name, "Al"), called(long_name, long)],
    );
    const { answered } = await finished(campaign);
    assert.equal(answered, 2);
    const synthesized = await fixture.app.db.query
      .selectFrom("voice_recipients as r")
      .innerJoin("voice_audio as k", (on) =>
        on.onRef("k.account_id", "=", "r.account_id").onRef("k.name", "=", "r.audio_name"),
      )
      .select("k.duration_ms")
      .where("r.account_id", "=", client.account.account_id)
      .where("r.campaign_id", "=", campaign.id)
      .orderBy("r.id")
      .execute();
    const received_ms = [short_name, long_name].map((phone) => phone.received_ms());
    const [of_short, of_long] = synthesized.map(({ duration_ms }) => duration_ms);
    assert.ok(of_short! > 300 && of_long! > 2 * of_short!, JSON.stringify(synthesized));
    assert.ok(
      received_ms[0]! > 100 && received_ms[1]! > 2 * received_ms[0]!,
      `${received_ms.join()} ms`,
    );
    assert.ok(
      received_ms[0]! <= of_short! + 20 && received_ms[1]! <= of_long! + 20,
      `${received_ms.join()} ms`,
    );
  });

  test("a caller navigates a menu by keys, records a message, and is transferred to the extension that answers", async () => {
    const phone = await openPhone();
    const campaign = await launch(
      menuOf("main", {
        main: {
          type: "menu",
          prompt: await audio(500, endless_ms),
          keys: { "1": "code" },
          invalid_prompt: await audio(900, 300),
          timeout_seconds: 60,
          tries: 3,
          otherwise: "bye",
        },
        code: {
          type: "capture",
          prompt: await audio(700, endless_ms),
          variable: "code",
          min_digits: 2,
          max_digits: 6,
          invalid_prompt: null,
          timeout_seconds: 60,
          tries: 1,
          next: "note",
          otherwise: "bye",
        },
        note: { type: "set_field", field: "code", value: "it is {{code}}", next: "message" },
        message: {
          type: "record",
          prompt: await audio(300, 300),
          max_seconds: 120,
          silence_seconds: 60,
          next: "first",
        },
        first: {
          type: "transfer",
          prompt: null,
          to: { extension: extensions.declines },
          otherwise: "second",
        },
        second: {
          type: "transfer",
          prompt: null,
          to: { extension: extensions.answers },
          otherwise: "bye",
        },
        bye,
      }),
      [to(phone.number)],
    );
    await receivesAudio(phone, 500);
    await phone.press("5");
    await eventually(() => phone.tones().join() === "500,900,500", patience_s);
    await phone.press("1");
    await receivesAudio(phone, 700);
    for (const key of "42#") await phone.press(key);
    const call_id = await callReaches(campaign, "recording", "message");
    await recordMessage(phone, call_id);
    await callReaches(campaign, "bridged", "second");
    await assertEcho(phone, 900);
    await ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await finished(campaign);
    assert.deepEqual(await menuSteps(call_id), [
      "main",
      "main 5",
      "main 1",
      "code",
      "code 42",
      "note",
      "message",
      "first",
      "second",
    ]);
    assert.deepEqual(await leadFields(call_id), { code: "it is 42" });
    const [report] = await client.callRecords(campaign.id);
    assert.deepEqual(legsOf(report), [
      `customer 91${phone.number} completed`,
      `transfer ${extensions.declines} busy`,
      `transfer ${extensions.answers} completed`,
    ]);
    assert.deepEqual([report.ended_reason, report.cost], ["hung_up_by_api", 2]);
    await assertMessage(call_id);
  });

  test("a caller who presses nothing is asked again and then follows the menu's fallback", async () => {
    const phone = await openPhone();
    const prompt = await audio(500, 300);
    const more = { tries: 2, timeout_seconds: 1, invalid_prompt: null };
    const campaign = await launch(
      menuOf("main", {
        main: { type: "menu", prompt, keys: { "1": "bye" }, ...more, otherwise: "out" },
        out: { type: "opt_out", prompt: await audio(900, 300) },
        bye,
      }),
      [to(phone.number)],
    );
    await finished(campaign);
    const [report] = await client.callRecords(campaign.id);
    assert.deepEqual(await menuSteps(report.call_id), [
      "main",
      "main timeout",
      "main timeout",
      "out",
    ]);
    assert.equal(report.ended_reason, "opted_out");
    assert.deepEqual(phone.tones(), [500, 900]);
    assert.ok(phone.received_ms(500) > 300 && phone.received_ms(900) > 100);
  });

  test("an AI agent understands the caller, handles barge-in, sets lead fields and transfers to a person", async () => {
    const phone = await openPhone();
    let isKnown = false;
    stub.script({
      answer({ kind }) {
        if (kind === "function") return { say: "And now?", hz: 900, tone_ms: 500 };
        if (kind !== "speech") return { say: "Good day.", hz: 500, tone_ms: endless_ms };
        if (isKnown)
          return { say: "One moment.", hz: 300, call: { name: "transfer_to_agent", args: {} } };
        const args = { field: "interest", value: "tones" };
        return { call: { name: "set_lead_field", args } };
      },
      transcribe: () => (isKnown ? "A person, please." : "Stop it."),
    });
    const campaign = await launch(talkOf(realtime, extensions.answers), [
      to(phone.number, { variables: asha }),
    ]);
    await receivesAudio(phone, 500, 400);
    await speaksUntil(phone, 700, () => phone.received_ms(900) >= 200);
    // The interrupted audio does not continue.
    assert.deepEqual(phone.tones(), [500, 900]);
    const [greeting] = stub.last().items.values();
    assert.ok(greeting!.played_ms! > 200 && greeting!.played_ms! < endless_ms);
    isKnown = true;
    const position = () => callPosition(campaign);
    await speaksUntil(phone, 700, async () => (await position())?.doing === "bridged");
    const { call_id } = (await position())!;
    await assertEcho(phone, 700);
    await eventually(() => !stub.last().isOpen(), patience_s);
    await ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await finished(campaign);
    assert.ok(stub.last().loudest() > 1_000);
    assert.deepEqual(stub.violations(), []);
    assert.deepEqual(await leadFields(call_id), { interest: "tones" });
    assert.deepEqual(
      [...new Set(await transcriptOf(call_id))],
      [
        "agent: Good day.",
        "caller: Stop it.",
        "agent: And now?",
        "caller: A person, please.",
        "agent: One moment.",
      ],
    );
    const [report] = await client.callRecords(campaign.id);
    assert.deepEqual(legsOf(report), [
      `customer 91${phone.number} completed`,
      `transfer ${extensions.answers} completed`,
    ]);
    assert.equal(report.ended_reason, "hung_up_by_api");
    await eventually(
      async () => (await client.callRecords(campaign.id))[0].recording_url !== null,
      patience_s,
    );
  });

  test("the scripted AI agent speaks, applies the rule of a key and ends the call", async () => {
    const phone = await openPhone();
    const agent = { ...scripted, fields: realtime.fields };
    const campaign = await launch(talkOf(agent, null), [to(phone.number, { variables: asha })]);
    await receivesAudio(phone);
    await phone.press("1");
    await finished(campaign);
    const [report] = await client.callRecords(campaign.id);
    assert.deepEqual([report.disposition, report.ended_reason], ["answered", "ai_agent_ended"]);
    assert.deepEqual(await leadFields(report.call_id), { interest: "yes" });
    assert.deepEqual(await transcriptOf(report.call_id), [
      "agent: Good day, Asha",
      "caller: pressed 1",
      "agent: Thank you.",
    ]);
  });

  test("a paused campaign places no calls until it is resumed, and a canceled one none at all", async () => {
    const trunk_id = await makeTrunk(fixture.app, [fixture.node_id], {
      endpoint: "trunk",
      limits: { calls_max: 2 },
    });
    const numbers = Array.from({ length: 12 }, () => uniqueNumber(farEnd("hangs_up", 1)));
    const content: VoiceContent = {
      call_type: "obd_voice_call",
      prompt: await audio(500, endless_ms),
    };
    const campaign = await launch(
      content,
      numbers.map((number) => to(number)),
      { trunk_id },
    );
    const invitedOf = () => invited().filter((number) => numbers.includes(number));
    const waitingIn = async () => {
      const found = await states(campaign);
      return numbers.filter((_, i) => found[i] === "waiting");
    };
    const path = `/api/v1/voice/campaigns/${campaign.id}`;
    await eventually(() => invitedOf().length >= 3, patience_s);
    await ask("POST", `${path}/pause`);
    const remaining = await waitingIn();
    // Another campaign places calls on the same trunk in the meantime.
    await finished(await launch(content, [to(uniqueNumber(farEnd("hangs_up", 1)))], { trunk_id }));
    assert.deepEqual(await waitingIn(), remaining);
    assert.deepEqual(
      invitedOf().filter((number) => remaining.includes(number)),
      [],
    );
    const invited_before = invitedOf().length;
    await ask("POST", `${path}/resume`);
    await eventually(() => invitedOf().length > invited_before, patience_s);
    await ask("POST", `${path}/cancel`);
    const { status, answered, cancelled, pending } = await finished(campaign);
    assert.deepEqual([status, answered + cancelled, pending], ["cancelled", 12, 0]);
    assert.ok(cancelled > 0);
    const ended = await states(campaign);
    const reached = numbers.filter((_, i) => ended[i] === "answered");
    assert.deepEqual(invitedOf().toSorted(), reached.toSorted());
  });
});

test("the next node leader continues audio, menus and conversations, and calls no recipient twice", async () => {
  const [plays, chooses, talks, is_lost] = await Promise.all([1, 2, 3, 4].map(openPhone));
  const playing = await launch({ call_type: "obd_voice_call", prompt: await audio(500, 6_000) }, [
    to(plays!.number),
  ]);
  const main: MenuNode = {
    type: "menu",
    prompt: await audio(500, endless_ms),
    keys: { "1": "out" },
    invalid_prompt: null,
    timeout_seconds: 60,
    tries: 1,
    otherwise: "bye",
  };
  const out: MenuNode = { type: "hang_up", prompt: await audio(900, 400) };
  const chosen = await launch(menuOf("main", { main, out, bye }), [to(chooses!.number)]);
  const transferred = await launch(talkOf(scripted, extensions.answers_too), [to(talks!.number)]);
  const lost = await launch(talkOf(scripted, null), [to(is_lost!.number)]);
  const all = [plays!, chooses!, talks!, is_lost!];
  await Promise.all([receivesAudio(plays!), receivesAudio(chooses!)]);
  for (const campaign of [transferred, lost]) {
    const talking = await callReaches(campaign, "conversing");
    await eventually(async () => (await transcriptOf(talking)).length > 0, patience_s);
  }
  await worker.stop();
  worker = startWorker(fixture.app, settings);

  const call_id = await callReaches(transferred, "bridged");
  await assertEcho(talks!, 700);
  await ask("POST", `/api/v1/calls/${call_id}/hangup`);
  await chooses!.press("1");
  await receivesAudio(chooses!, 900);
  for (const [campaign, ended_reason] of [
    [playing, "played"],
    [chosen, "menu_ended"],
    [transferred, "hung_up_by_api"],
    [lost, "agent_lost"],
  ] as const) {
    await finished(campaign);
    const reports = await client.callRecords(campaign.id);
    assert.deepEqual(
      reports.map((report) => report.ended_reason),
      [ended_reason],
    );
    assert.deepEqual(await states(campaign), ["answered"]);
  }
  assert.ok(plays!.received_ms(500) > 3_000);
  for (const { number } of all) assert.equal(invited().filter((one) => one === number).length, 1);
});

test("the invariants hold and Asterisk has no channels or bridges left", () => fixture.checkAll());

/** Speaks once the recording has started, and ends the message with #. */
async function recordMessage(phone: ScriptedPhone, callId: number): Promise<void> {
  const { recording } = await fixture.app.db.query
    .selectFrom("call_messages")
    .select("recording")
    .where("account_id", "=", client.account.account_id)
    .where("call_id", "=", callId)
    .executeTakeFirstOrThrow();
  await eventually(async () => {
    const answer = await fixture.ari("GET", `/recordings/live/${recording}_trunkline`);
    return answer.ok && ((await answer.json()) as { state: string }).state === "recording";
  }, patience_s);
  await phone.say(tone(1_000, { hz: 700 }));
  await phone.press("#");
}

async function assertMessage(callId: number): Promise<void> {
  const answer = await fetch(`${fixture.api.url}/api/v1/calls/${callId}/messages/1`, {
    headers: { authorization: `Bearer ${client.token}` },
  });
  assert.equal(answer.status, 200);
  const { length_ms, peak } = readWav(Buffer.from(await answer.arrayBuffer()));
  assert.ok(length_ms > 500 && peak > 4_000, `${length_ms} ms, ${peak}`);
}
