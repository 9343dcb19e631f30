// Voice campaigns with a node leader on the sandbox: dialing, playing, key presses and counts.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { makeSuppression } from "../../../test/support/chat-factory.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  setCalling,
} from "../../../test/support/telephony-factory.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { checkCalls, checkVoiceCampaigns } from "../../../test/support/check-invariants.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  makeVoiceCampaign,
  type RecipientToMake,
  type TestVoiceCampaign,
} from "../../../test/support/voice-factory.ts";
import type { Menu, MenuNode } from "../../calls/state-machine/menu.ts";
import type { VoicePlan } from "../../calls/state-machine/voice-plan.ts";
import { completeVoiceCampaigns } from "./complete-voice-campaigns.ts";
import { storeAudio } from "../../calls/audio/audio-files.ts";
import { tone } from "../../../test/support/tone-speech.ts";

let fixture: CallFixture;
let audio: { name: string; duration_ms: number };

before(async () => {
  fixture = await openCallFixture();
  fixture.startLeaders();
  const { app, account } = fixture;
  audio = await storeAudio(app.db.query, account.account_id, tone(2_000), app.clock.now());
});
after(() => fixture.close());

let numbers = 0;
/** Creates a recipient whose simulated phone behaves as the code selects; without a code, it answers. */
function to(steering?: string): RecipientToMake {
  numbers += 1;
  const tail = steering === undefined ? "000000" : `777${steering}`;
  const number = `9${String(numbers).padStart(3, "0")}${tail}`;
  return { number, phone: `91${number}` };
}

async function launch(
  people: readonly RecipientToMake[],
  plan: Partial<VoicePlan> = {},
  campaign: Record<string, unknown> = {},
): Promise<TestVoiceCampaign> {
  const whole: VoicePlan = {
    content: { call_type: "obd_voice_call", prompt: { audio } },
    opt_out_key: "9",
    answering_machine: "off",
    ...plan,
  };
  const made = await makeVoiceCampaign(fixture.app, fixture.account, {
    campaign: {
      trunk_id: fixture.trunk_id,
      call_type: whole.content.call_type,
      plan: JSON.stringify(whole),
      ...campaign,
    },
    recipients: people,
  });
  fixture.app.notifications.send("voice_work", String(made.trunk_id));
  return made;
}

type Row = {
  readonly id: number;
  readonly state: string;
  readonly attempts: number;
  readonly due_at: Date;
};

async function recipients({ id }: TestVoiceCampaign): Promise<Row[]> {
  return fixture.app.db.query
    .selectFrom("voice_recipients")
    .select(["id", "state", "attempts", "due_at"])
    .where("account_id", "=", fixture.account.account_id)
    .where("campaign_id", "=", id)
    .orderBy("id")
    .execute();
}

/** Waits until the recipients have these states, and returns them. */
async function settled(campaign: TestVoiceCampaign, ...expected: string[]): Promise<Row[]> {
  let rows: Row[] = [];
  await eventually(async () => {
    rows = await recipients(campaign);
    return rows.every(({ state }, i) => state === expected[i]);
  }).catch((error: unknown) => {
    throw new Error(`recipients are ${JSON.stringify(rows)}`, { cause: error });
  });
  await checkVoiceCampaigns(fixture.app.db.pool);
  return rows;
}

// Waits until no call is in progress.
afterEach(async () => {
  const { pool } = fixture.app.db;
  await eventually(async () => {
    const { rows } = await pool.query("select from calls where stage <> 'ended'");
    return rows.length === 0;
  });
  await checkVoiceCampaigns(pool);
  await checkCalls(pool);
  // Far ends use real time: with a clock that is a day ahead, they would have talked for a day.
  fixture.api.clock.release();
});

/** Returns the calls ordered by attempt and recipient. */
async function calls(campaign: TestVoiceCampaign) {
  return fixture.app.db.query
    .selectFrom("calls")
    .selectAll()
    .where("account_id", "=", fixture.account.account_id)
    .where("campaign_id", "=", campaign.id)
    .orderBy("attempt")
    .orderBy("recipient_id")
    .execute();
}

test("every call of a campaign shows the caller ID of the launch, although the trunk has another first one now", async () => {
  const { app, trunk_id } = fixture;
  const set = (caller_ids: string[]) =>
    app.db.query.updateTable("trunks").set({ caller_ids }).where("id", "=", trunk_id).execute();
  await set(["9000000002", "9000000001"]);
  const campaign = await launch([to(), to()], {}, { caller_id: "9000000001" });
  await settled(campaign, "answered", "answered");
  const shown = (await calls(campaign)).map(({ from_number }) => from_number);
  assert.deepEqual(shown, ["9000000001", "9000000001"]);
  await set([]);
});

test("every recipient is called once and ends in the state of the far end's response", async () => {
  const campaign = await launch([
    to(),
    to("486"),
    to("480"),
    to("603"),
    to("404"),
    to("503"),
    to("209"),
  ]);
  await settled(campaign, "answered", "busy", "no_answer", "busy", "failed", "failed", "answered");
  const made = await calls(campaign);
  assert.deepEqual(
    made.map(({ disposition, ended_reason, cost, opted_out }) => [
      disposition,
      ended_reason,
      cost,
      opted_out,
    ]),
    [
      ["answered", "played", 1, false],
      ["busy", "customer_busy", 0, false],
      ["no_answer", "customer_no_answer", 0, false],
      ["declined", "customer_declined", 0, false],
      ["unallocated", "customer_unallocated", 0, false],
      ["congestion", "customer_congestion", 0, false],
      ["answered", "opted_out", 1, true],
    ],
  );
  // No other campaign calls a recipient who opted out.
  const last = made.at(-1)!;
  const again = await launch([{ number: last.to_number, phone: last.to_phone }]);
  await settled(again, "suppressed");
  assert.deepEqual(await calls(again), []);
});

test("busy, unanswered and unreachable numbers are redialed after the wait, others are not", async () => {
  const campaign = await launch(
    [to("486"), to("603"), to("404")],
    {},
    {
      max_retry: 2,
      retry_after_minutes: 5,
    },
  );
  const first = await settled(campaign, "waiting", "busy", "failed");
  const wait_ms = first[0]!.due_at.getTime() - fixture.app.clock.now().getTime();
  assert.ok(wait_ms > 4 * 60_000 && wait_ms <= 5 * 60_000 + 1_000, String(wait_ms));
  for (const attempts of [2, 3]) {
    fixture.api.clock.advance(5 * 60_000 + 1_000);
    await eventually(async () => (await recipients(campaign))[0]!.attempts === attempts);
    await settled(campaign, attempts === 3 ? "busy" : "waiting", "busy", "failed");
  }
  assert.deepEqual(
    (await calls(campaign)).map(({ attempt, to_phone }) => [attempt, to_phone.slice(-3)]),
    [
      [1, "486"],
      [1, "603"],
      [1, "404"],
      [2, "486"],
      [3, "486"],
    ],
  );
});

test("calls and retries wait for the account's calling window, and a paused or cancelled campaign places no calls", async () => {
  const { app, account, api } = fixture;
  const now = app.clock.now();
  const hour_ms = 3_600_000;
  // The customers are in India, five and a half hours ahead.
  const timeOfDay = (at_ms: number) => new Date(at_ms + 5.5 * hour_ms).toISOString().slice(11, 16);
  const hour = (ms: number) => timeOfDay(now.getTime() + ms);
  // The calling window opens in two hours, for one hour.
  await setCalling(app, account, {
    night_calling: false,
    calling_from: hour(2 * hour_ms),
    calling_to: hour(3 * hour_ms),
    time_zone: "Asia/Kolkata",
  });
  const campaign = await launch([to("486")], {}, { max_retry: 1, retry_after_minutes: 30 });
  const held = await launch([to(), to()]);
  const cancelled = await launch([to(), to()]);
  await fixture.ask("POST", `/api/v1/voice/campaigns/${held.id}/pause`);
  await fixture.ask("POST", `/api/v1/voice/campaigns/${cancelled.id}/cancel`);
  const seen = await fixture.ask("GET", `/api/v1/voice/campaigns/${campaign.public_id}`);
  assert.equal(seen.body.waiting_for, "calling_window");
  await passPolls();
  assert.deepEqual(await calls(campaign), []);
  api.clock.advance(2 * hour_ms + 30 * 60_000);
  await eventually(async () => (await recipients(campaign))[0]!.attempts === 1);
  await settled(campaign, "waiting");
  // The retry is due when the calling window closes.
  api.clock.advance(31 * 60_000);
  await passPolls();
  assert.equal((await calls(campaign)).length, 1);
  api.clock.advance(23 * hour_ms);
  await settled(campaign, "busy");
  for (const { initiated_at } of await calls(campaign)) {
    const at = timeOfDay(initiated_at!.getTime());
    assert.ok(isBetween(at, hour(2 * hour_ms), hour(3 * hour_ms)), at);
  }
  for (const one of [held, cancelled]) assert.deepEqual(await calls(one), []);
  await setCalling(app, account, { night_calling: true });
  await fixture.ask("POST", `/api/v1/voice/campaigns/${held.id}/resume`);
  await settled(held, "answered", "answered");
});

/** Waits until a call of another campaign, launched now, ends: then the leader has polled every campaign since. */
async function passPolls(): Promise<void> {
  const other = await makeCallingAccount(fixture.app);
  await setCalling(fixture.app, other, { night_calling: true });
  const values = { trunk_id: fixture.trunk_id, plan: JSON.stringify(silentPlan) };
  const made = await makeVoiceCampaign(fixture.app, other, {
    campaign: values,
    recipients: [to("404")],
  });
  await eventually(async () => {
    const { rows } = await fixture.app.db.pool.query(
      "select from calls where campaign_id = $1 and stage = 'ended'",
      [made.id],
    );
    return rows.length === 1;
  });
}

/** The plan of a campaign that plays nothing. */
const silentPlan: VoicePlan = {
  content: {
    call_type: "obd_ivr",
    menu: { start: "bye", nodes: { bye: { type: "hang_up", prompt: null } } },
  },
  opt_out_key: null,
  answering_machine: "off",
};

/** Reports whether a time of day is in a span, which may cross midnight. */
function isBetween(at: string, from: string, until: string): boolean {
  return from <= until ? at >= from && at < until : at >= from || at < until;
}

test("plays to an answering machine, hangs up or calls again, as configured", async () => {
  const plays = await launch([to("205")], { answering_machine: "play" });
  const hangsUp = await launch([to("205"), to()], { answering_machine: "hang_up" });
  const retries = await launch([to("205")], { answering_machine: "retry" }, { max_retry: 1 });
  await settled(plays, "machine");
  await settled(hangsUp, "machine", "answered");
  await settled(retries, "waiting");
  fixture.api.clock.advance(61_000);
  await settled(retries, "machine");
  const seen = async (campaign: TestVoiceCampaign) =>
    (await calls(campaign)).map((call) =>
      [call.answered_by, call.disposition, call.ended_reason].join(" "),
    );
  assert.deepEqual(await seen(plays), ["machine voicemail_left played"]);
  assert.deepEqual((await seen(hangsUp)).toSorted(), [
    "human answered played",
    "machine machine answering_machine",
  ]);
  assert.deepEqual(await seen(retries), [
    "machine machine answering_machine",
    "machine machine answering_machine",
  ]);
});

const bye: MenuNode = { type: "hang_up", prompt: null };
const menuWith = (nodes: Record<string, MenuNode>): Partial<VoicePlan> => ({
  content: {
    call_type: "obd_ivr",
    menu: { start: "main", nodes: { bye, ...nodes } } satisfies Menu,
  },
});
const ask = (keys: Record<string, string>): MenuNode => ({
  type: "menu",
  prompt: { audio },
  keys,
  invalid_prompt: null,
  timeout_seconds: 1,
  tries: 2,
  otherwise: "bye",
});

async function path(callId: number): Promise<[string, string | null][]> {
  const steps = await fixture.app.db.query
    .selectFrom("call_menu_steps")
    .select(["node", "key"])
    .where("account_id", "=", fixture.account.account_id)
    .where("call_id", "=", callId)
    .orderBy("id")
    .execute();
  return steps.map(({ node, key }) => [node, key]);
}

test("a menu follows keys and time-outs, sets fields, opts out and transfers to an agent", async () => {
  const plan = menuWith({
    main: ask({ "1": "thanks", "9": "out" }),
    thanks: {
      type: "play",
      prompt: { say: "Thank you {{name|friend}}", language: "en" },
      next: "note",
    },
    note: { type: "set_field", field: "interest", value: "yes, {{name|friend}}", next: "agent" },
    agent: { type: "transfer", prompt: null, to: { extension: "102" }, otherwise: "bye" },
    out: { type: "opt_out", prompt: { audio } },
  });
  const one = { ...to("701"), variables: JSON.stringify({ name: "Asha" }) };
  const campaign = await launch([one, to("209"), to("900")], plan);
  await settled(campaign, "answered", "answered", "answered");
  const [pressed, left, silent] = await calls(campaign);
  assert.deepEqual(await path(pressed!.id), [
    ["main", null],
    ["main", "1"],
    ["thanks", null],
    ["note", null],
    ["agent", null],
  ]);
  assert.deepEqual(pressed!.lead_fields, { interest: "yes, Asha" });
  const report = (await fixture.ask("GET", `/api/v1/calls/${pressed!.id}`)).body;
  assert.deepEqual(
    report.legs.map((leg: { role: string; number: string }) => [leg.role, leg.number]),
    [
      ["customer", pressed!.to_phone],
      ["transfer", "102"],
    ],
  );
  assert.deepEqual(await path(left!.id), [
    ["main", null],
    ["main", "9"],
    ["out", null],
  ]);
  assert.equal(left!.ended_reason, "opted_out");
  const optOut = await fixture.app.db.query
    .selectFrom("suppressions")
    .select(["source", "scope", "evidence"])
    .where("account_id", "=", fixture.account.account_id)
    .where("phone", "=", left!.to_phone)
    .execute();
  const evidence = { call_id: left!.id, key: "9" };
  assert.deepEqual(optOut, [{ source: "dtmf", scope: "all", evidence }]);
  assert.deepEqual(await path(silent!.id), [
    ["main", null],
    ["main", "timeout"],
    ["main", "timeout"],
    ["bye", null],
  ]);
  assert.equal(silent!.ended_reason, "menu_ended");
});

test("with more callers than agents, a message plays to the others, and they count in the abandonment rate of the campaign and of its completion event", async () => {
  const plan = menuWith({
    main: ask({ "1": "agent" }),
    agent: { type: "transfer", prompt: null, to: { extension: "480" }, otherwise: "bye" },
  });
  const campaign = await launch([to("701"), to("701"), to()], plan);
  await settled(campaign, "answered", "answered", "answered");
  const { body } = await fixture.ask("GET", `/api/v1/voice/campaigns/${campaign.id}`);
  assert.deepEqual([body.answered, body.live_answers, body.abandoned], [3, 3, 2]);
  assert.equal(body.abandonment_rate, 2 / 3);
  await completeVoiceCampaigns(fixture.app);
  const { data } = await fixture.app.db.query
    .selectFrom("events")
    .select("data")
    .where("account_id", "=", fixture.account.account_id)
    .where("type", "=", "voice.campaign.completed")
    .orderBy("id", "desc")
    .executeTakeFirstOrThrow();
  const { campaign_id, live_answers, abandoned, abandonment_rate } = data as Record<string, number>;
  assert.deepEqual(
    [campaign_id, live_answers, abandoned, abandonment_rate],
    [campaign.id, 3, 2, 2 / 3],
  );
  assert.deepEqual(
    (await calls(campaign)).map((call) => [call.disposition, call.ended_reason]),
    [
      ["abandoned", "transfer_not_answered"],
      ["abandoned", "transfer_not_answered"],
      ["answered", "menu_ended"],
    ],
  );
});

test("never transfers a caller to a suppressed phone, and never calls a number suppressed in another spelling", async () => {
  const { app, account } = fixture;
  const agent = "919800777903";
  await makeSuppression(app, account, agent, { channel: "voice" });
  const agent_group_id = await makeAgentGroup(app, account, [agent]);
  const person = { number: "5512345678", phone: "525512345678" };
  await makeSuppression(app, account, "5215512345678", { channel: "voice", scope: "marketing" });
  const campaign = await launch(
    [to(), person],
    menuWith({
      main: { type: "transfer", prompt: null, to: { agent_group_id }, otherwise: "bye" },
    }),
  );
  await settled(campaign, "answered", "suppressed");
  const [call, ...more] = await calls(campaign);
  assert.deepEqual(more, []);
  assert.equal(call!.ended_reason, "transfer_not_answered");
  const { body } = await fixture.ask("GET", `/api/v1/calls/${call!.id}`);
  const [, transfer] = body.legs as { number: string; status: string }[];
  assert.deepEqual([transfer!.number, transfer!.status], [agent, "canceled"]);
  assert.ok(!JSON.stringify(body.events).includes('"call.ringing","leg":"transfer"'));
});

test("the menu continues when no agent answers a transfer, and records a message", async () => {
  const campaign = await launch(
    [to()],
    menuWith({
      main: { type: "transfer", prompt: null, to: { extension: "480" }, otherwise: "message" },
      message: {
        type: "record",
        prompt: { audio },
        max_seconds: 2,
        silence_seconds: 1,
        next: "bye",
      },
    }),
  );
  await settled(campaign, "answered");
  const [call] = await calls(campaign);
  assert.deepEqual(await path(call!.id), [
    ["main", null],
    ["message", null],
    ["bye", null],
  ]);
  const messages = await fixture.app.db.query
    .selectFrom("call_messages")
    .select(["node", "state"])
    .where("call_id", "=", call!.id)
    .execute();
  assert.deepEqual(messages, [{ node: "message", state: "ready" }]);
});

test("a campaign without credit is paused and places no calls; one whose calls fail is paused too", async () => {
  const { app, account } = fixture;
  const holds = async ({ id }: TestVoiceCampaign) =>
    app.db.query
      .selectFrom("voice_holds")
      .select(["reason", "detail"])
      .where("account_id", "=", account.account_id)
      .where("campaign_id", "=", id)
      .execute();
  for (const [code, failure] of [
    ["503", "congestion (SIP 503)"],
    ["484", "invalid (SIP 484)"],
  ] as const) {
    const failing = await launch(Array.from({ length: 40 }, () => to(code)));
    await eventually(async () => (await holds(failing)).length > 0);
    const [hold] = await holds(failing);
    assert.equal(hold!.reason, "error_threshold");
    assert.match(hold!.detail!, /of the last \d+ calls failed, most recently: /);
    assert.ok(hold!.detail!.endsWith(failure), hold!.detail!);
    await eventually(async () =>
      (await recipients(failing)).every(({ state }) => state !== "calling"),
    );
  }
  await checkVoiceCampaigns(app.db.pool);

  await app.db.query
    .updateTable("credit_balances")
    .set({ available: 0 })
    .where("account_id", "=", account.account_id)
    .where("kind", "=", "call")
    .execute();
  const dry = await launch([to(), to()]);
  await eventually(async () => (await holds(dry)).length > 0);
  assert.deepEqual(await holds(dry), [{ reason: "credit", detail: null }]);
  assert.deepEqual(
    (await recipients(dry)).map(({ state, attempts }) => [state, attempts]),
    [
      ["waiting", 0],
      ["waiting", 0],
    ],
  );
});
