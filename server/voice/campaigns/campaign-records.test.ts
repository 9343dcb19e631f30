// Reading voice campaigns: the list, wait reasons, recipients and pressed keys.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeSandboxTrunk, setCalling } from "../../../test/support/telephony-factory.ts";
import {
  makeAccount,
  makeAgentToken,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { makeContact } from "../../../test/support/crm-factory.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import type { CallBlocker } from "../../calls/state-machine/call-blocker.ts";
import type { Call } from "../../calls/state-machine/call.ts";
import { recipientOutcome } from "../../calls/state-machine/transitions/recipient-outcome.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

async function newAccount(): Promise<TestAccount> {
  const account = await makeAccount(api.app);
  await setCalling(api.app, account, { night_calling: true });
  return account;
}

const get = (account: TestAccount, path = "") =>
  api.send("GET", `/api/v1/voice/campaigns${path}`, { token: account.token });

async function hold(account: TestAccount, campaign_id: number, reason: string): Promise<void> {
  const { account_id } = account;
  const set_at = new Date(0);
  await api.app.db.query
    .insertInto("voice_holds")
    .values({ account_id, campaign_id, reason, set_at })
    .execute();
}

async function count(
  account: TestAccount,
  campaign_id: number,
  slot: number,
  values: Record<string, number>,
): Promise<void> {
  const { account_id } = account;
  await api.app.db.query
    .insertInto("voice_counts")
    .values({ account_id, campaign_id, slot, ...values })
    .execute();
}

test("a campaign is read by either id with exactly its fields, and its counts are the sums of its slots", async () => {
  const account = await newAccount();
  const states = ["calling", "answered", "machine", "busy", "no_answer", "failed"] as const;
  const more = ["suppressed", "skipped", "cancelled"] as const;
  const campaign = await makeVoiceCampaign(api.app, account, {
    campaign: {
      name: "Spring",
      call_type: "obd_ivr",
      max_retry: 2,
      retry_after_minutes: 5,
      rejected: 4,
      duplicates: 3,
      crm_workspace_id: account.workspace_id,
      callback_url: "https://hooks.test.example/calls",
      created_at: new Date("2026-01-01T00:00:00Z"),
      started_at: new Date("2026-01-01T00:00:01Z"),
    },
    recipients: [{}, ...[...states, ...more].map((state) => ({ state }))],
  });
  await count(account, campaign.id, 0, { waiting: -1, calling: 1, attempts: 7 });
  await count(account, campaign.id, 3, { calling: -1, answered: 1, cost: 9, talk_seconds: 70 });
  const expected = {
    id: campaign.public_id,
    campaign_id: campaign.id,
    name: "Spring",
    call_type: "obd_ivr",
    send_to: "Numbers",
    is_test: false,
    trunk_id: campaign.trunk_id,
    caller_id: null,
    status: "running",
    paused_reason: null,
    holds: [],
    waiting_for: null,
    callable_from: null,
    total: 10,
    pending: 1,
    in_progress: 1,
    answered: 2,
    machine: 1,
    busy: 1,
    no_answer: 1,
    failed: 1,
    suppressed: 1,
    skipped: 1,
    cancelled: 1,
    rejected: 4,
    duplicates: 3,
    attempts: 7,
    called: 6,
    answer_rate: 1 / 3,
    cost: 9,
    live_answers: 0,
    abandoned: 0,
    abandonment_rate: null,
    talk_seconds: 70,
    max_retry: 2,
    retry_after: 5,
    scheduled_at: null,
    started_at: "2026-01-01T00:00:01.000Z",
    finished_at: null,
    purged_at: null,
    created_at: "2026-01-01T00:00:00.000Z",
    created_by: account.owner_id,
    crm_workspace_id: account.workspace_id,
    callback_url: "https://hooks.test.example/calls",
  };
  const list = await get(account);
  assert.equal(list.status, 200, list.text);
  assert.equal(list.body.next_cursor, null);
  const { voice_file_id, ...shown } = list.body.data[0];
  assert.ok(voice_file_id > 0);
  assert.deepEqual(shown, expected);
  for (const id of [campaign.id, campaign.public_id, campaign.public_id.toUpperCase()])
    assert.deepEqual((await get(account, `/${id}`)).body, list.body.data[0]);
  for (const id of ["0", "1e3", "x", campaign.public_id.slice(1), "9".repeat(15), "%00"])
    assert.equal((await get(account, `/${id}`)).status, 404, id);
});

test("each filter returns exactly its campaigns, page by page, and test calls are listed only on request", async () => {
  const account = await newAccount();
  const { trunk_id } = await makeSandboxTrunk(api.app, account);
  const make = async (campaign: Record<string, unknown>) => {
    const values = { campaign: { trunk_id, ...campaign } };
    return (await makeVoiceCampaign(api.app, account, values)).id;
  };
  const running = await make({});
  const paused = await make({});
  const waiting = await make({ state: "scheduled" });
  const late = await make({ state: "scheduled" });
  const over = await make({ state: "completed", finished_at: new Date(0) });
  const trial = await make({ is_test: true, call_type: "ai_bot" });
  const smart = await make({ call_type: "obd_smartvoice" });
  await hold(account, paused, "manual");
  await hold(account, paused, "credit");
  await hold(account, late, "error_threshold");
  await hold(account, over, "credit");
  const cases: [string, number[]][] = [
    ["", [smart, over, late, waiting, paused, running]],
    ["?status=running", [smart, running]],
    ["?status=paused", [late, paused]],
    ["?status=scheduled", [waiting]],
    ["?status=completed", [over]],
    ["?status=failed", []],
    ["?call_type=obd_smartvoice", [smart]],
    ["?call_type=ai_bot", []],
    ["?is_test=true", [trial]],
    ["?is_test=true&call_type=ai_bot", [trial]],
    ["?is_test=false&status=paused", [late, paused]],
  ];
  for (const [query, ids] of cases) {
    const { body } = await get(account, query);
    assert.deepEqual(
      body.data.map((row: { campaign_id: number }) => row.campaign_id),
      ids,
      query,
    );
  }
  const reasons = async (id: number) => {
    const { body } = await get(account, `/${id}`);
    return [
      body.status,
      body.paused_reason,
      body.holds.map((held: { reason: string }) => held.reason),
    ];
  };
  assert.deepEqual(await reasons(paused), ["paused", "credit", ["credit", "manual"]]);
  assert.deepEqual(await reasons(late), ["paused", "error_threshold", ["error_threshold"]]);
  assert.deepEqual(await reasons(over), ["completed", null, []]);
  const seen: number[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { body } = await get(account, `?limit=4${more}`);
    seen.push(...body.data.map((row: { campaign_id: number }) => row.campaign_id));
    cursor = body.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(seen, cases[0]![1]);
  const refused = await get(account, "?status=ended&call_type=x&is_test=maybe&state=running");
  assert.equal(refused.status, 422);
  assert.deepEqual(failingFields(refused).toSorted(), ["call_type", "is_test", "state", "status"]);
});

test("a running campaign that places no calls reports why it waits", async () => {
  const account = await newAccount();
  const { app } = api;
  const later = new Date(Date.now() + 3_600_000);
  const retry = await makeVoiceCampaign(app, account, { recipients: [{ due_at: later }] });
  const synthesizing = { state: "synthesizing", due_at: new Date(0) } as const;
  const speech = await makeVoiceCampaign(app, account, {
    recipients: [synthesizing, { due_at: later }],
  });
  const busy = await makeVoiceCampaign(app, account, {
    recipients: [{ state: "calling" }, { due_at: later }],
  });
  const due = await makeVoiceCampaign(app, account, { recipients: [synthesizing, {}] });
  const done = await makeVoiceCampaign(app, account, { recipients: [{ state: "busy" }] });
  const held = await makeVoiceCampaign(app, account, { recipients: [{ due_at: later }] });
  await hold(account, held.id, "manual");
  const all = [retry, speech, busy, due, done, held];
  const waits = async () => {
    const reasons: unknown[] = [];
    for (const { id } of all) reasons.push((await get(account, `/${id}`)).body.waiting_for);
    return reasons;
  };
  assert.deepEqual(await waits(), ["retry", "speech", null, null, null, null]);

  await setCalling(app, account, {
    night_calling: false,
    calling_from: "09:00",
    calling_to: "09:00",
    time_zone: "UTC",
  });
  const closed = Array.from({ length: 4 }, () => "calling_window");
  assert.deepEqual(await waits(), [...closed, null, null]);
  assert.equal((await get(account, `/${due.id}`)).body.callable_from, null);
  // An hour that is neither the current nor the next one.
  const hour = (new Date().getUTCHours() + 12) % 24;
  const [from, to] = [hour, (hour + 1) % 24].map((h) => `${String(h).padStart(2, "0")}:00`);
  await setCalling(app, account, {
    calling_from: from!,
    calling_to: to === "00:00" ? "24:00" : to!,
  });
  const { body } = await get(account, `/${due.id}`);
  assert.equal(body.waiting_for, "calling_window");
  assert.equal(new Date(body.callable_from).getUTCHours(), hour);
  assert.ok(new Date(body.callable_from) > new Date());

  await app.db.query
    .updateTable("trunks")
    .set({ active: false })
    .where("id", "in", [retry.trunk_id, due.trunk_id])
    .execute();
  assert.deepEqual((await waits()).slice(0, 4), ["no_trunk", ...closed.slice(1, 3), "no_trunk"]);
});

test("recipients are listed and exported with the outcome of their last call", async () => {
  const account = await newAccount();
  const { app } = api;
  const campaign = await makeVoiceCampaign(app, account, {
    campaign: { call_type: "obd_ivr" },
    recipients: [
      { state: "answered", finished_at: new Date("2026-01-01T00:00:09Z"), attempts: 1 },
      {
        number: "+919811111111",
        phone: "919811111111",
        variables: JSON.stringify({ name: "=Ada" }),
      },
      { state: "no_answer" },
      ...Array.from({ length: 1_001 }, () => ({ state: "cancelled" }) as const),
    ],
  });
  const call_id = await makeVoiceCall(app, account, campaign, {
    call: { dtmf: "1#", talk_seconds: 12 },
    steps: [
      { node: "welcome", key: null },
      { node: "welcome", key: "1" },
    ],
  });
  const first = await get(account, `/${campaign.public_id}/recipients?limit=2`);
  assert.equal(first.status, 200, first.text);
  const { due_at, ...second } = first.body.data[1];
  assert.ok(due_at);
  const [{ menu_path, ...one }] = first.body.data;
  assert.deepEqual(one, {
    id: 1,
    number: "9800000001",
    phone: "919800000001",
    variables: null,
    state: "answered",
    skip_reason: null,
    attempts: 1,
    call_id,
    outcome: "answered",
    ended_reason: "hung_up",
    talk_seconds: 12,
    dtmf: "1#",
    due_at: null,
    time_zones: [],
    finished_at: "2026-01-01T00:00:09.000Z",
    callable_from: null,
    contact_name: null,
  });
  assert.deepEqual(
    menu_path.map(({ node, key }: { node: string; key: string | null }) => [node, key]),
    [
      ["welcome", null],
      ["welcome", "1"],
    ],
  );
  assert.deepEqual(second, {
    id: 2,
    number: "+919811111111",
    phone: "919811111111",
    variables: { name: "=Ada" },
    state: "waiting",
    skip_reason: null,
    attempts: 0,
    call_id: null,
    outcome: null,
    ended_reason: null,
    talk_seconds: null,
    dtmf: "",
    menu_path: [],
    time_zones: [],
    finished_at: null,
    callable_from: null,
    contact_name: null,
  });
  const ids = async (query: string) =>
    (await get(account, `/${campaign.id}/recipients?${query}`)).body.data.map(
      ({ id }: { id: number }) => id,
    );
  assert.deepEqual(await ids(`limit=2&cursor=${first.body.next_cursor}`), [3, 4]);
  assert.deepEqual(await ids("state=no_answer"), [3]);
  assert.deepEqual(await ids("number=9811111111"), [2]);
  assert.deepEqual(await ids("number=+919811111111&state=waiting"), [2]);
  assert.deepEqual(await ids("number=9811111111&state=busy"), []);
  const refused = await get(account, `/${campaign.id}/recipients?number=abc`);
  assert.deepEqual(failingFields(refused), ["number"]);

  const answer = await get(account, `/${campaign.id}/recipients/export`);
  assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8");
  const rows: Record<string, string>[] = parse(answer.text, { columns: true });
  assert.equal(new Set(rows.map(({ id }) => id)).size, 1_004);
  const { contact_name: _, ...exported } = first.body.data[0];
  assert.deepEqual(Object.keys(rows[0]!), Object.keys(exported));
  for (const [field, value] of Object.entries(exported)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    assert.equal(rows[0]![field], text === "null" ? "" : text, field);
  }
  assert.equal(rows[1]!["number"], "+919811111111");
  const narrowed = await get(account, `/${campaign.id}/recipients/export?state=answered`);
  assert.equal(narrowed.text.trim().split("\r\n").length, 2);
  const audit = await app.db.query
    .selectFrom("audit_entries")
    .select(["subject_id", "detail"])
    .where("account_id", "=", account.account_id)
    .where("action", "=", "voice_recipients.exported")
    .orderBy("id")
    .execute();
  assert.deepEqual(audit, [
    { subject_id: String(campaign.id), detail: { filters: [] } },
    { subject_id: String(campaign.id), detail: { filters: ["state"] } },
  ]);
});

test("the filter by number finds a recipient by each spelling of the number", async () => {
  const account = await newAccount();
  const campaign = await makeVoiceCampaign(api.app, account, {
    recipients: ["551187654321", "5511987654321", "5511987654322"].map((phone) => ({
      number: `+${phone}`,
      phone,
    })),
  });
  for (const number of ["%2B551187654321", "%2B5511987654321"]) {
    const { body } = await get(account, `/${campaign.id}/recipients?number=${number}`);
    assert.deepEqual(
      body.data.map(({ id }: { id: number }) => id),
      [1, 2],
      number,
    );
  }
});

test("keys are counted by node, each caller once, and numbers of several digits are counted together", async () => {
  const account = await newAccount();
  const { app } = api;
  const menu = await makeVoiceCampaign(app, account, {
    campaign: { call_type: "obd_ivr" },
    recipients: [{}, {}, {}],
  });
  const step = (node: string, key: string | null) => ({ node, key });
  const entered = [step("a", null), step("a", "invalid"), step("a", null), step("a", "1")];
  const steps: [number, ReturnType<typeof step>[]][] = [
    [1, [...entered, step("pin", "4711")]],
    [1, [step("a", null), step("a", "1")]],
    [2, [step("a", null), step("a", "timeout"), step("pin", "4712"), step("pin", "3")]],
    [3, [step("a", null), step("a", "1")]],
  ];
  for (const [recipient_id, way] of steps)
    await makeVoiceCall(app, account, menu, { recipient_id, steps: way });
  const other = await makeVoiceCampaign(app, account, { campaign: { call_type: "obd_ivr" } });
  await makeVoiceCall(app, account, other, { steps: [step("a", "9")] });
  const counted = (answer: { body: { data: Record<string, unknown>[] } }) =>
    answer.body.data.map(({ node, key, count: n, callers }) => [node, key, n, callers]);
  assert.deepEqual(counted(await get(account, `/${menu.id}/keys`)), [
    ["a", null, 5, 3],
    ["a", "1", 3, 2],
    ["a", "invalid", 1, 1],
    ["a", "timeout", 1, 1],
    ["pin", "3", 1, 1],
    ["pin", "entered", 2, 2],
  ]);

  const plain = await makeVoiceCampaign(app, account, { recipients: [{}, {}] });
  await makeVoiceCall(app, account, plain, { call: { dtmf: "99#" } });
  await makeVoiceCall(app, account, plain, { call: { dtmf: "9" } });
  await makeVoiceCall(app, account, plain, { recipient_id: 2, call: { dtmf: "9" } });
  assert.deepEqual(counted(await get(account, `/${plain.id}/keys`)), [
    [null, "#", 1, 1],
    [null, "9", 4, 2],
  ]);
  const attempts = await get(account, `/${plain.id}/attempts?limit=2&status=completed`);
  assert.equal(attempts.status, 200, attempts.text);
  assert.deepEqual(
    attempts.body.data.map((row: Record<string, unknown>) => [row["recipient_id"], row["dtmf"]]),
    [
      [2, "9"],
      [1, "9"],
    ],
  );
  const rest = await get(account, `/${plain.id}/attempts?cursor=${attempts.body.next_cursor}`);
  assert.deepEqual(
    rest.body.data.map((row: Record<string, unknown>) => row["dtmf"]),
    ["99#"],
  );
  assert.deepEqual((await get(account, `/${plain.id}/attempts?status=busy`)).body.data, []);
});

test("the recipients that were not reached are counted by reason", async () => {
  const account = await newAccount();
  const campaign = await makeVoiceCampaign(api.app, account, {
    recipients: [
      { state: "failed" },
      { state: "failed" },
      { state: "failed" },
      { state: "skipped", skip_reason: "number_barred" },
      ...(["busy", "busy", "busy", "busy", "no_answer", "suppressed", "answered"] as const).map(
        (state) => ({ state }),
      ),
    ],
  });
  for (const recipient_id of [1, 2]) {
    const call = { ended_reason: "trunk_failed", answered_at: null };
    await makeVoiceCall(api.app, account, campaign, { recipient_id, call });
  }
  const { status, body } = await get(account, `/${campaign.id}/failures`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    body.data.map(({ state, reason, count: n, is_more }: Record<string, unknown>) => [
      state,
      reason,
      n,
      is_more,
    ]),
    [
      ["busy", "busy", 4, false],
      ["failed", "trunk_failed", 2, false],
      ["no_answer", "no_answer", 1, false],
      ["failed", "not_synthesized", 1, false],
      ["skipped", "number_barred", 1, false],
      ["suppressed", "suppressed", 1, false],
    ].toSorted((a, b) => Number(b[2]) - Number(a[2]) || String(a[1]).localeCompare(String(b[1]))),
  );
  const stranger = await newAccount();
  assert.equal((await get(stranger, `/${campaign.id}/failures`)).status, 404);
});

test("the pace of a voice campaign has the calls placed in each minute, and how they ended", async () => {
  const account = await newAccount();
  const campaign = await makeVoiceCampaign(api.app, account, { recipients: [{}, {}, {}] });
  const [first, second] = ["2026-03-01T10:00:00.000Z", "2026-03-01T10:02:00.000Z"] as const;
  const answered_at = new Date(first);
  const placed = [
    { queued_at: new Date("2026-03-01T10:00:10Z"), answered_at },
    { queued_at: new Date("2026-03-01T10:00:40Z"), answered_at: null },
    { queued_at: new Date("2026-03-01T10:02:10Z"), answered_at: null, stage: "customer" },
  ];
  for (const [i, call] of placed.entries())
    await makeVoiceCall(api.app, account, campaign, { recipient_id: i + 1, call });
  api.clock.set(new Date("2026-03-01T10:03:00Z"));
  const { body } = await get(account, `/${campaign.public_id}/pace`);
  assert.deepEqual(body.data, [
    { minute: first, placed: 2, answered: 1, failed: 1 },
    { minute: second, placed: 1, answered: 0, failed: 0 },
  ]);
  const recent = await get(account, `/${campaign.id}/pace?minutes=1`);
  assert.deepEqual(recent.body.data, [{ minute: second, placed: 1, answered: 0, failed: 0 }]);
});

test("the pace omits the same calls as the attempts: those that ended before they were dialed", async () => {
  const account = await newAccount();
  const reasons: readonly (CallBlocker | "hung_up_by_api" | "agent_lost")[] = [
    "night_window",
    "already_in_call",
    "held",
    "node_unavailable",
    "ai_agent_unavailable",
    "speech_unavailable",
    "speech_rejected",
    "number_barred",
    "destination_not_allowed",
    "suppressed",
    "hung_up_by_api",
    "agent_lost",
  ];
  const ended_at = new Date("2026-03-01T12:00:00Z");
  // Canceled before the dial, while the phone rang, and as it was answered without a report that it rang.
  const canceled = [
    { disposition: "canceled", ringing_at: null, cost: 0 },
    { disposition: "canceled", ringing_at: ended_at, cost: 0 },
    { disposition: "canceled", ringing_at: null, cost: 1 },
  ] as const;
  const failed = { disposition: "failed", ringing_at: null, cost: 0 } as const;
  const ends = reasons.flatMap((ended_reason) =>
    [...canceled, failed].map((end) => ({ ended_reason, ...end })),
  );
  const campaign = await makeVoiceCampaign(api.app, account, { recipients: ends.map(() => ({})) });
  const minuteOf = (i: number) => new Date(ended_at.getTime() - (i + 1) * 60_000);
  for (const [i, end] of ends.entries()) {
    const status = end.disposition;
    const call = { ...end, status, queued_at: minuteOf(i), answered_at: null };
    await makeVoiceCall(api.app, account, campaign, { recipient_id: i + 1, call });
  }
  const isCounted = (end: (typeof ends)[number]) => {
    const call: Partial<Call> = {
      ...end,
      voice: { recipient_id: 1, callbacks: 0, attempts_max: 1 } as Call["voice"],
      settings: { night_calling: true } as Call["settings"],
      to_phone: "919876543210",
      contact_time_zones: [],
      ended_at,
      answered_at: null,
      answered_by: "unknown",
      opted_out: false,
      callback_at: null,
      attempt: 1,
    };
    return !recipientOutcome(call as Call)!.uncounted;
  };
  api.clock.set(ended_at);
  const { body } = await get(account, `/${campaign.id}/pace`);
  const placed = { placed: 1, answered: 0, failed: 1 };
  const expected = ends.flatMap((end, i) =>
    isCounted(end) ? [{ minute: minuteOf(i).toISOString(), ...placed }] : [],
  );
  assert.deepEqual(body.data, expected.toReversed());
  assert.equal(expected.length, ends.length - reasons.length);
});

test("a recipient names its contact for those who may see contacts", async () => {
  const account = await newAccount();
  const recipients = [{ phone: "919845454541" }, { phone: "919845454542" }];
  const { id } = await makeVoiceCampaign(api.app, account, { recipients });
  await makeContact(api.app, account, { phone: "9845454542", name: "Asha" });
  const names = async (token: string) => {
    const { body } = await get({ ...account, token }, `/${id}/recipients`);
    return body.data.map(({ contact_name }: { contact_name: string | null }) => contact_name);
  };
  assert.deepEqual(await names(account.token), [null, "Asha"]);
  const token = await makeAgentToken(api.app, account, ["voice.campaigns.read"]);
  assert.deepEqual(await names(token), [null, null]);
});
