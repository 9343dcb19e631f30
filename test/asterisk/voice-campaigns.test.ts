// Voice campaigns, from the worker to the far end's ears: what is heard there, and what it says and presses.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Menu, MenuNode, Prompt } from "../../server/calls/state-machine/menu.ts";
import type { VoiceContent, VoicePlan } from "../../server/calls/state-machine/voice-plan.ts";
import { storeAudio } from "../../server/calls/audio/audio-files.ts";
import type { AgentPlan } from "../../server/drivers/ai-agent/driver.ts";
import { openRealtimeAgent } from "../../server/drivers/ai-agent/realtime/open-realtime-agent.ts";
import { openScriptedAgent } from "../../server/drivers/ai-agent/scripted/open-scripted-agent.ts";
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
/** Longer than any test: whoever hears the next thing has had it broken off. */
const endless_ms = 300_000;
/** Nor is the lead of the switch lost because the machine is busy. */
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
    agentDrivers: {
      scripted: openScriptedAgent({ speech }),
      realtime: openRealtimeAgent({
        url: stub.url,
        api_key: null,
        model: "stub",
        log: openLog("silent"),
        timeouts: { ready_ms: patience_s * 1_000, stall_ms: patience_s * 1_000 },
      }),
    },
    // An agent's talk does not outlive a connection: none is given up because the machine is busy.
    driver: { ping_ms: 30_000, request_timeout_ms: 60_000 },
  });
  client = await fixture.client({ customer_ring_seconds: 5 });
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
/** A number of its own for the conduct of a far end. */
function unlike(number: string): string {
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

/** The campaign with its counts, as the API tells it, once nobody of it is pending. */
async function over({ id }: TestVoiceCampaign) {
  // oxlint-disable-next-line typescript/no-explicit-any -- as CallClient.reports
  let told: any;
  await eventually(async () => {
    told = await ask("GET", `/api/v1/voice/campaigns/${id}`);
    return told.finished_at !== null;
  }, patience_s).catch(async (error: unknown) => {
    const reports = JSON.stringify(await client.reports(id));
    throw new Error(`${JSON.stringify(told)}: ${reports}`, { cause: error });
  });
  return told;
}

/** A state each, in the order of the recipients. */
async function states({ id }: TestVoiceCampaign): Promise<string[]> {
  const { data } = await ask("GET", `/api/v1/voice/campaigns/${id}/recipients?limit=100`);
  return data
    .toSorted((a: { id: number }, b: { id: number }) => a.id - b.id)
    .map(({ state }: { state: string }) => state);
}

type Stand = { readonly call_id: number; readonly doing: string; readonly node: string | null };

/** Where the campaign's only call stands; null: nowhere yet. */
async function callStands({ id }: TestVoiceCampaign): Promise<Stand | null> {
  const found = await fixture.app.db.query
    .selectFrom("calls")
    .select(["id", "position"])
    .where("account_id", "=", client.account.account_id)
    .where("campaign_id", "=", id)
    .executeTakeFirst();
  const position = found?.position as Omit<Stand, "call_id"> | null | undefined;
  return position ? { ...position, call_id: found!.id } : null;
}

/** The id of the campaign's only call once it stands at what is meant. */
async function callAt(
  campaign: TestVoiceCampaign,
  doing: string,
  node: string | null = null,
): Promise<number> {
  let found: Stand | null = null;
  const isThere = async () => {
    found = await callStands(campaign);
    return found?.doing === doing && (node === null || found.node === node);
  };
  await eventually(isThere, patience_s).catch((error: unknown) => {
    throw new Error(`no call is ${doing}: ${JSON.stringify(found)}`, { cause: error });
  });
  return found!.call_id;
}

/** The menu's nodes and the keys pressed at them. */
async function wayOf(callId: number): Promise<string[]> {
  const steps = await fixture.app.db.query
    .selectFrom("call_menu_steps")
    .select(["node", "key"])
    .where("account_id", "=", client.account.account_id)
    .where("call_id", "=", callId)
    .orderBy("id")
    .execute();
  return steps.map(({ node, key }) => (key === null ? node : `${node} ${key}`));
}

async function saidOn(callId: number): Promise<string[]> {
  const lines = await fixture.app.db.query
    .selectFrom("call_transcripts")
    .select(["who", "text"])
    .where("account_id", "=", client.account.account_id)
    .where("call_id", "=", callId)
    .orderBy("id")
    .execute();
  return lines.map(({ who, text }) => `${who}: ${text}`);
}

async function noted(callId: number): Promise<unknown> {
  const { lead_fields } = await fixture.app.db.query
    .selectFrom("calls")
    .select("lead_fields")
    .where("account_id", "=", client.account.account_id)
    .where("id", "=", callId)
    .executeTakeFirstOrThrow();
  return lead_fields;
}

async function hears(phone: ScriptedPhone, hz?: number, ms = 100): Promise<void> {
  await eventually(() => phone.heard_ms(hz) >= ms, patience_s).catch((error: unknown) => {
    throw new Error(`it heard ${phone.heard_ms()} ms, ${phone.tones().join(", ")} Hz`, {
      cause: error,
    });
  });
}

/**
 * Speaks, again and again, until it comes true: of what is said while the machine has no time for Asterisk,
 * the other end may hear nothing.
 */
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
  const spoken = speaking();
  try {
    await eventually(isTrue, patience_s);
  } finally {
    done.abort();
    await spoken;
  }
}

/** Whoever is on the line sends back what the phone says, so that it hears itself: sound goes both ways. */
async function hearsItself(phone: ScriptedPhone, hz: number): Promise<void> {
  const before_ms = phone.heard_ms(hz);
  await speaksUntil(phone, hz, () => phone.heard_ms(hz) >= before_ms + 200);
}

/** The number of each INVITE that the carrier got, in their order. */
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
const realtime: AgentPlan = {
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
const scripted: AgentPlan = {
  ...realtime,
  driver: "scripted",
  rules: [
    {
      keys: "1",
      keywords: [],
      say: "Thank you.",
      set: { field: "interest", value: "yes" },
      // oxlint-disable-next-line unicorn/no-thenable -- a word of the plan, no function
      then: "end",
    },
  ],
  fields: [],
};
const talkOf = (agent: AgentPlan, extension: string | null): VoiceContent => ({
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
  test("a recording is heard by whoever answers, a key ends it for good, and nobody else is counted as reached", async () => {
    const [listens, leaves] = [await openPhone(), await openPhone()];
    const numbers = [listens.number, unlike(refusing(486)), unlike(refusing(603))];
    numbers.push(unlike(refusing(404)), unlike(farEnd("rings_on")));
    const prompt = await audio(500, 2_000);
    const plays = await launch(
      { call_type: "obd_voice_call", prompt },
      numbers.map((number) => to(number)),
    );
    const long = await audio(700, endless_ms);
    const gives_up = await launch({ call_type: "obd_voice_call", prompt: long }, [
      to(leaves.number),
    ]);
    await hears(leaves, 700);
    await leaves.press("9");

    const told = await over(plays);
    assert.deepEqual(await states(plays), ["answered", "busy", "busy", "failed", "no_answer"]);
    const { total, pending, answered, busy, failed, no_answer, attempts, cost } = told;
    assert.deepEqual(
      { total, pending, answered, busy, failed, no_answer, attempts, cost },
      { total: 5, pending: 0, answered: 1, busy: 2, failed: 1, no_answer: 1, attempts: 5, cost: 1 },
    );
    assert.equal(told.status, "completed");
    const heard_ms = listens.heard_ms(500);
    assert.ok(heard_ms > 1_000 && heard_ms <= 2_100, `${heard_ms} ms`);
    const reports = await client.reports(plays.id);
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
    await over(gives_up);
    const [left] = await client.reports(gives_up.id);
    assert.deepEqual([left.disposition, left.ended_reason], ["answered", "opted_out"]);
    const again = await launch({ call_type: "obd_voice_call", prompt }, [to(leaves.number)]);
    await over(again);
    assert.deepEqual(await states(again), ["suppressed"]);
    for (const number of [...numbers, leaves.number])
      assert.equal(invited().filter((one) => one === number).length, 1, number);
  });

  test("machines are hung up on, whoever is none hears the recording, as the campaign asks", async () => {
    const prompt = await audio(500, 300);
    // On a machine that has other things to do, the one or other greeting comes in pieces.
    await eventually(async () => (await callMachines(prompt)).includes("machine"), patience_s);
  });

  /** The states of three machines and a person, which are as their calls' ends were. */
  const callMachines = async (prompt: Prompt): Promise<readonly string[]> => {
    const numbers = [farEnd("greets_long"), farEnd("greets_long"), farEnd("greets_long")];
    numbers.push(farEnd("says_hello"));
    const campaign = await launch(
      { call_type: "obd_voice_call", prompt },
      numbers.map((number) => to(unlike(number))),
      { plan: { answering_machine: "hang_up" } },
    );
    await over(campaign);
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

  test("each recipient hears the script spoken with their own values", async () => {
    const long = "Anasuya Venkataraghavan Subramaniam of the Coromandel Trading Company";
    const [short_name, long_name] = [await openPhone(), await openPhone()];
    const called = (phone: ScriptedPhone, name: string) =>
      to(phone.number, { state: "synthesizing", variables: JSON.stringify({ name }) });
    const campaign = await launch(
      { call_type: "obd_smartvoice", script: "Hello {{name}}.", language: "en" },
      [called(short_name, "Al"), called(long_name, long)],
    );
    const { answered } = await over(campaign);
    assert.equal(answered, 2);
    const spoken = await fixture.app.db.query
      .selectFrom("voice_recipients as r")
      .innerJoin("voice_audio as k", (on) =>
        on.onRef("k.account_id", "=", "r.account_id").onRef("k.name", "=", "r.audio_name"),
      )
      .select("k.duration_ms")
      .where("r.account_id", "=", client.account.account_id)
      .where("r.campaign_id", "=", campaign.id)
      .orderBy("r.id")
      .execute();
    const heard = [short_name, long_name].map((phone) => phone.heard_ms());
    const [of_short, of_long] = spoken.map(({ duration_ms }) => duration_ms);
    assert.ok(of_short! > 300 && of_long! > 2 * of_short!, JSON.stringify(spoken));
    assert.ok(heard[0]! > 100 && heard[1]! > 2 * heard[0]!, `${heard.join()} ms`);
    assert.ok(heard[0]! <= of_short! + 20 && heard[1]! <= of_long! + 20, `${heard.join()} ms`);
  });

  test("a caller goes through a menu by keys, leaves a message, and is put through to who answers", async () => {
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
        note: { type: "set_field", field: "code", value: "it is {{code}}", next: "tell" },
        tell: {
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
    await hears(phone, 500);
    await phone.press("5");
    await eventually(() => phone.tones().join() === "500,900,500", patience_s);
    await phone.press("1");
    await hears(phone, 700);
    for (const key of "42#") await phone.press(key);
    const call_id = await callAt(campaign, "recording", "tell");
    await leavesMessage(phone, call_id);
    await callAt(campaign, "bridged", "second");
    await hearsItself(phone, 900);
    await ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await over(campaign);
    assert.deepEqual(await wayOf(call_id), [
      "main",
      "main 5",
      "main 1",
      "code",
      "code 42",
      "note",
      "tell",
      "first",
      "second",
    ]);
    assert.deepEqual(await noted(call_id), { code: "it is 42" });
    const [report] = await client.reports(campaign.id);
    assert.deepEqual(legsOf(report), [
      `customer 91${phone.number} completed`,
      `transfer ${extensions.declines} busy`,
      `transfer ${extensions.answers} completed`,
    ]);
    assert.deepEqual([report.ended_reason, report.cost], ["hung_up_by_api", 2]);
    await assertMessage(call_id);
  });

  test("who presses nothing is asked again, and then goes where the menu says", async () => {
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
    await over(campaign);
    const [report] = await client.reports(campaign.id);
    assert.deepEqual(await wayOf(report.call_id), ["main", "main timeout", "main timeout", "out"]);
    assert.equal(report.ended_reason, "opted_out");
    assert.deepEqual(phone.tones(), [500, 900]);
    assert.ok(phone.heard_ms(500) > 300 && phone.heard_ms(900) > 100);
  });

  test("an AI agent hears the caller, is broken in on, notes what it found out and puts through to a person", async () => {
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
      understand: () => (isKnown ? "A person, please." : "Stop it."),
    });
    const campaign = await launch(talkOf(realtime, extensions.answers), [
      to(phone.number, { variables: asha }),
    ]);
    await hears(phone, 500, 400);
    await speaksUntil(phone, 700, () => phone.heard_ms(900) >= 200);
    // Nothing of what was broken in on comes after.
    assert.deepEqual(phone.tones(), [500, 900]);
    const [greeting] = stub.last().items.values();
    assert.ok(greeting!.heard_ms! > 200 && greeting!.heard_ms! < endless_ms);
    isKnown = true;
    const stands = () => callStands(campaign);
    await speaksUntil(phone, 700, async () => (await stands())?.doing === "bridged");
    const { call_id } = (await stands())!;
    await hearsItself(phone, 700);
    await eventually(() => !stub.last().isOpen(), patience_s);
    await ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await over(campaign);
    assert.ok(stub.last().loudest() > 1_000);
    assert.deepEqual(stub.faults(), []);
    assert.deepEqual(await noted(call_id), { interest: "tones" });
    assert.deepEqual(
      [...new Set(await saidOn(call_id))],
      [
        "agent: Good day.",
        "caller: Stop it.",
        "agent: And now?",
        "caller: A person, please.",
        "agent: One moment.",
      ],
    );
    const [report] = await client.reports(campaign.id);
    assert.deepEqual(legsOf(report), [
      `customer 91${phone.number} completed`,
      `transfer ${extensions.answers} completed`,
    ]);
    assert.equal(report.ended_reason, "hung_up_by_api");
    await eventually(
      async () => (await client.reports(campaign.id))[0].recording_url !== null,
      patience_s,
    );
  });

  test("the scripted agent speaks, takes a key by its rule and ends the call", async () => {
    const phone = await openPhone();
    const agent = { ...scripted, fields: realtime.fields };
    const campaign = await launch(talkOf(agent, null), [to(phone.number, { variables: asha })]);
    await hears(phone);
    await phone.press("1");
    await over(campaign);
    const [report] = await client.reports(campaign.id);
    assert.deepEqual([report.disposition, report.ended_reason], ["answered", "ai_agent_ended"]);
    assert.deepEqual(await noted(report.call_id), { interest: "yes" });
    assert.deepEqual(await saidOn(report.call_id), [
      "agent: Good day, Asha",
      "caller: pressed 1",
      "agent: Thank you.",
    ]);
  });

  test("nobody is called of a campaign that is paused, and nobody any more of one that is cancelled", async () => {
    const trunk_id = await makeTrunk(fixture.app, [fixture.node_id], {
      endpoint: "trunk",
      share: { calls_max: 2 },
    });
    const numbers = Array.from({ length: 12 }, () => unlike(farEnd("hangs_up", 1)));
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
    const left = await waitingIn();
    // Another one has its turn on the same line meanwhile.
    await over(await launch(content, [to(unlike(farEnd("hangs_up", 1)))], { trunk_id }));
    assert.deepEqual(await waitingIn(), left);
    assert.deepEqual(
      invitedOf().filter((number) => left.includes(number)),
      [],
    );
    const invited_before = invitedOf().length;
    await ask("POST", `${path}/resume`);
    await eventually(() => invitedOf().length > invited_before, patience_s);
    await ask("POST", `${path}/cancel`);
    const { status, answered, cancelled, pending } = await over(campaign);
    assert.deepEqual([status, answered + cancelled, pending], ["cancelled", 12, 0]);
    assert.ok(cancelled > 0);
    const ended = await states(campaign);
    const reached = numbers.filter((_, i) => ended[i] === "answered");
    assert.deepEqual(invitedOf().toSorted(), reached.toSorted());
  });
});

test("whoever leads next goes on with what is played, asked and said, and calls nobody twice", async () => {
  const [plays, chooses, talks, is_lost] = await Promise.all([1, 2, 3, 4].map(openPhone));
  const clipped = await launch({ call_type: "obd_voice_call", prompt: await audio(500, 6_000) }, [
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
  await Promise.all([hears(plays!), hears(chooses!)]);
  for (const campaign of [transferred, lost]) {
    const talking = await callAt(campaign, "conversing");
    await eventually(async () => (await saidOn(talking)).length > 0, patience_s);
  }
  await worker.stop();
  worker = startWorker(fixture.app, settings);

  const call_id = await callAt(transferred, "bridged");
  await hearsItself(talks!, 700);
  await ask("POST", `/api/v1/calls/${call_id}/hangup`);
  await chooses!.press("1");
  await hears(chooses!, 900);
  for (const [campaign, ended_reason] of [
    [clipped, "played"],
    [chosen, "menu_ended"],
    [transferred, "hung_up_by_api"],
    [lost, "agent_lost"],
  ] as const) {
    await over(campaign);
    const reports = await client.reports(campaign.id);
    assert.deepEqual(
      reports.map((report) => report.ended_reason),
      [ended_reason],
    );
    assert.deepEqual(await states(campaign), ["answered"]);
  }
  assert.ok(plays!.heard_ms(500) > 3_000);
  for (const { number } of all) assert.equal(invited().filter((one) => one === number).length, 1);
});

test("after all of these campaigns the books are right, and Asterisk holds nothing", () =>
  fixture.checkAll());

/** Speaks once it is recorded, and ends the message. */
async function leavesMessage(phone: ScriptedPhone, callId: number): Promise<void> {
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
