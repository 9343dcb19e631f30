import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeCallingAccount, makeSandboxTrunk } from "../../../test/support/telephony-factory.ts";
import { failed, makeCall, type CallToMake } from "../../../test/support/call-factory.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { makeContact } from "../../../test/support/crm-factory.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../../../test/support/voice-factory.ts";

let api: TestApi;
let place: { node_id: number; trunk_id: number };
before(async () => {
  api = await startApi();
  place = await makeSandboxTrunk(api.app);
});
after(() => api.close());

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));

async function newAccount() {
  const account = await makeCallingAccount(api.app);
  return { account, make: (call: CallToMake) => makeCall(api.app, account, { place, ...call }) };
}

const get = (account: TestAccount, path: string) =>
  api.send("GET", `/api/v1/calls${path}`, { token: account.token });

async function listed(account: TestAccount, query: string): Promise<number[]> {
  const answer = await get(account, query);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data.map((row: { call_id: number }) => row.call_id);
}

const talked: CallToMake = {
  asked: { reference: "order-7", source: "web", remark: "=VIP", policy_applied: "ring_all" },
  call: {
    stage: "ended",
    status: "completed",
    cli_number: "9000000000",
    disposition: "answered",
    ended_reason: "hung_up",
    ended_by: "customer",
    queued_at: at(0),
    initiated_at: at(1),
    ringing_at: at(4),
    answered_at: at(6),
    ended_at: at(16),
    ring_seconds: 3,
    talk_seconds: 10,
    billed_seconds: 120,
    hangup_cause: 16,
    sip_status: 200,
    dtmf: "1#",
    recording_state: "ready",
    cost: 2,
  },
  legs: [
    { initiated_at: at(1), ringing_at: at(2), answered_at: at(3), ended_at: at(16), cause: 16 },
    {
      role: "customer",
      number: "919876543210",
      status: "completed",
      initiated_at: at(3),
      answered_at: at(6),
      ended_at: at(16),
      cause: 16,
      sip_status: 200,
    },
  ],
};

test("a call record has exactly its fields, including the reference, and both legs", async () => {
  const { account, make } = await newAccount();
  const { id, campaign_id } = await make(talked);
  const answer = await get(account, "");
  assert.equal(answer.status, 200, answer.text);
  const row = {
    call_id: id,
    campaign_id,
    campaign_name: null,
    recipient_id: null,
    type: "click_to_call",
    direction: "outbound",
    reference: "order-7",
    source: "web",
    remark: "=VIP",
    from_number: "101",
    to_number: "9876543210",
    contact_name: null,
    cli_number: "9000000000",
    status: "completed",
    disposition: "answered",
    ended_reason: "hung_up",
    ended_by: "customer",
    answered_by: "unknown",
    attempt: 1,
    queued_at: "2026-01-01T00:00:00.000Z",
    initiated_at: "2026-01-01T00:00:01.000Z",
    ringing_at: "2026-01-01T00:00:04.000Z",
    answered_at: "2026-01-01T00:00:06.000Z",
    ended_at: "2026-01-01T00:00:16.000Z",
    ring_seconds: 3,
    talk_seconds: 10,
    billed_seconds: 120,
    hangup_cause_q850: 16,
    sip_status: 200,
    dtmf: "1#",
    recording_url: `/api/v1/calls/${id}/recording`,
    transcript: null,
    menu_path: [],
    collected: {},
    messages: [],
    callback_at: null,
    callback_outcome: null,
    opted_out: false,
    cost: 2,
    lead_id: null,
    policy_applied: "ring_all",
    retry_at: null,
    legs: [
      {
        role: "agent",
        number: "101",
        status: "completed",
        initiated_at: "2026-01-01T00:00:01.000Z",
        ringing_at: "2026-01-01T00:00:02.000Z",
        answered_at: "2026-01-01T00:00:03.000Z",
        ended_at: "2026-01-01T00:00:16.000Z",
        cause: 16,
        sip_status: null,
        blocker: null,
      },
      {
        role: "customer",
        number: "919876543210",
        status: "completed",
        initiated_at: "2026-01-01T00:00:03.000Z",
        ringing_at: null,
        answered_at: "2026-01-01T00:00:06.000Z",
        ended_at: "2026-01-01T00:00:16.000Z",
        cause: 16,
        sip_status: 200,
        blocker: null,
      },
    ],
  };
  assert.deepEqual(answer.body, { data: [row], next_cursor: null });
  const detail = await get(account, `/${id}`);
  const { events: _events, ...rest } = detail.body;
  for (const [field, value] of Object.entries(row)) assert.deepEqual(rest[field], value, field);
});

test("the callback of an erased customer stays as it was, whoever else of the campaign was erased", async () => {
  const account = await makeCallingAccount(api.app);
  const campaign = await makeVoiceCampaign(api.app, account, {
    campaign: { trunk_id: place.trunk_id },
    recipients: [{ state: "failed" }, { state: "answered" }],
  });
  const { account_id } = account;
  const call = (recipient_id: number, more: { callback_at?: Date } = {}) =>
    makeVoiceCall(api.app, account, campaign, { recipient_id, call: more });
  const asked = await call(1, { callback_at: at(60) });
  await call(2);
  const outcome = async () => (await get(account, `/${asked}`)).body.callback_outcome;
  // As an erasure does.
  const erase = () =>
    api.app.db.query
      .updateTable("calls")
      .set({ to_number: "", to_phone: "" })
      .where("account_id", "=", account_id)
      .where("campaign_id", "=", campaign.id)
      .execute();
  assert.equal(await outcome(), "failed");
  await erase();
  assert.equal(await outcome(), "failed");
  await call(1);
  await erase();
  assert.equal(await outcome(), "called");
});

test("the call record of a voice campaign has the transcript, menu path, collected values and messages", async () => {
  const { account, make } = await newAccount();
  const { app } = api;
  const campaign = await makeVoiceCampaign(app, account, {
    campaign: {
      name: "Spring",
      call_type: "ai_bot",
      trunk_id: place.trunk_id,
      max_retry: 2,
      retry_after_minutes: 5,
    },
    recipients: [{}, {}],
  });
  const id = await makeVoiceCall(app, account, campaign, {
    recipient_id: 2,
    call: {
      queued_at: at(1),
      answered_by: "human",
      collected: JSON.stringify({ city: "Pune", due_at: "Monday" }),
      callback_at: at(60),
      opted_out: true,
      lead_id: 7,
    },
    steps: [
      { node: "welcome", key: null },
      { node: "welcome", key: "1" },
    ],
    said: [
      { who: "agent", text: "Hello" },
      { who: "caller", text: "Hi" },
    ],
    messages: [
      { recording: "b", node: "voicemail", state: "failed" },
      { recording: "a", node: "voicemail", state: "ready" },
    ],
  });
  const click = await make({ call: { queued_at: at(0) } });
  assert.deepEqual(await listed(account, ""), [id, click.id]);
  assert.deepEqual(await listed(account, `?campaign_id=${campaign.id}`), [id]);
  assert.deepEqual(await listed(account, "?number=9800000002"), [id]);
  assert.deepEqual(await listed(account, "?status=completed"), [id]);
  const row = (await get(account, "")).body.data[0];
  const { menu_path, transcript } = row;
  assert.ok([...menu_path, ...transcript].every((line) => !Number.isNaN(Date.parse(line.at))));
  const shown = {
    campaign_id: campaign.id,
    campaign_name: "Spring",
    recipient_id: 2,
    type: "voice_campaign",
    reference: null,
    from_number: "9000000000",
    to_number: "9800000002",
    answered_by: "human",
    collected: { city: "Pune", due_at: "Monday" },
    messages: [
      { node: "voicemail", recording_url: `/api/v1/calls/${id}/messages/1`, state: "ready" },
      { node: "voicemail", recording_url: null, state: "failed" },
    ],
    callback_at: "2026-01-01T00:01:00.000Z",
    callback_outcome: "opted_out",
    opted_out: true,
    lead_id: 7,
    policy_applied: null,
  };
  for (const [field, value] of Object.entries(shown)) assert.deepEqual(row[field], value, field);
  assert.deepEqual(
    menu_path.map((step: { node: string; key: string | null }) => [step.node, step.key]),
    [
      ["welcome", null],
      ["welcome", "1"],
    ],
  );
  assert.deepEqual(
    transcript.map((line: { who: string; text: string }) => `${line.who}: ${line.text}`),
    ["agent: Hello", "caller: Hi"],
  );
  const detail = (await get(account, `/${id}`)).body;
  const asked = { max_retry: 2, retry_after: 5, agent_retry_count: 0, enable_chat: false };
  for (const [field, value] of Object.entries(asked)) assert.equal(detail[field], value, field);
  const [first]: Row[] = parse((await get(account, "/export")).text, { columns: true });
  assert.equal(first!["transcript"], JSON.stringify(transcript));
  assert.equal(first!["campaign_name"], "Spring");

  const message = await get(account, `/${id}/messages/1`);
  assert.equal(message.status, 200, message.text);
  assert.equal(message.headers.get("content-type"), "audio/wav");
  for (const path of [`/${id}/messages/2`, `/${id}/messages/3`, `/${id}/messages/0`])
    assert.equal((await get(account, path)).status, 404, path);
  const listened = await app.db.query
    .selectFrom("audit_entries")
    .select(["subject_id", "detail"])
    .where("account_id", "=", account.account_id)
    .where("action", "=", "call.listened")
    .execute();
  assert.deepEqual(listened, [{ subject_id: String(id), detail: { message: 1 } }]);
  const retry = await api.send("POST", `/api/v1/calls/${id}/retry`, {
    token: account.token,
    json: { leg: "customer" },
  });
  assert.equal(retry.status, 409, retry.text);
  assert.match(retry.body.detail, /voice campaign/);
});

type Row = Record<string, string>;

test("the detail shows the request and the events, in order", async () => {
  const { account, make } = await newAccount();
  const { id } = await make({
    asked: {
      agent_not_pick_group_id: 3,
      agent_not_pick_policy: "no_such",
      max_retry: 2,
      retry_after_minutes: 7,
      customer_retry_count: 1,
      agent_retry_count: 2,
      extension_for_transfer: "4",
      extension_for_dis: "5",
      scheduled_at: at(60),
      enable_chat: true,
      from_group_id: 8,
      to_group_id: 9,
      auto_block_minutes: 15,
      callback_method: "PUT",
    },
  });
  const { account_id } = account;
  const events = [
    { type: "call.initiated", at: at(1), data: { call_id: id, status: "ringing" } },
    { type: "call.dtmf", at: at(2), data: { call_id: id, leg: "customer", digit: "5" } },
  ];
  await api.app.db.query
    .insertInto("call_events")
    .values(
      events.map(({ data, ...event }) => ({
        account_id,
        call_id: id,
        ...event,
        data: JSON.stringify(data),
      })),
    )
    .execute();
  const { body } = await get(account, `/${id}`);
  assert.deepEqual(body.events, [
    { call_id: id, status: "ringing", type: "call.initiated", at: "2026-01-01T00:00:01.000Z" },
    {
      call_id: id,
      leg: "customer",
      digit: "5",
      type: "call.dtmf",
      at: "2026-01-01T00:00:02.000Z",
    },
  ]);
  const asked = {
    agent_not_pick_group: 3,
    agent_not_pick_policy: "no_such",
    max_retry: 2,
    retry_after: 7,
    customer_retry_count: 1,
    agent_retry_count: 2,
    extension_for_transfer: "4",
    extension_for_dis: "5",
    scheduled_at: "2026-01-01T00:01:00.000Z",
    enable_chat: true,
    from_group_id: 8,
    to_group_id: 9,
    auto_block_time: 15,
    callback_method: "PUT",
    retried_leg: null,
  };
  for (const [field, value] of Object.entries(asked)) assert.deepEqual(body[field], value, field);
});

test("each filter returns exactly its calls, and several filters must all match", async () => {
  const { account, make } = await newAccount();
  const busy = { ...failed, status: "busy", disposition: "busy", ended_reason: "customer_busy" };
  const a = await make({ call: { ...failed, queued_at: at(1) }, asked: { reference: "r-1" } });
  const b = await make({
    call: { ...busy, queued_at: at(2), from_number: "919811111111" },
    asked: { to_group_id: 77, from_number: "+91 98111 11111" },
  });
  const c = await make({
    call: { queued_at: at(3), to_number: "9822222222", to_phone: "919822222222" },
    asked: { reference: "r-1", to_group_id: 77 },
  });
  const cases: [string, { id: number }[]][] = [
    ["", [c, b, a]],
    [`?campaign_id=${b.campaign_id}`, [b]],
    ["?campaign_id=9223372036854775000", []],
    ["?reference=r-1", [c, a]],
    ["?reference=r", []],
    ["?number=101", [c, a]],
    ["?number=9811111111", [b]],
    ["?number=%2B919811111111", [b]],
    ["?number=+91 98111 11111", [b]],
    ["?number=+919822222222", [c]],
    ["?number=919822222222", [c]],
    ["?number=9822222222", [c]],
    ["?status=busy", [b]],
    ["?status=busy,queued,busy", [c, b]],
    ["?status=busy,queued&number=101", [c]],
    ["?ended_reason=customer_busy", [b]],
    ["?ended_reason=credit", []],
    ["?type=click_to_call&status=busy", [b]],
    ["?to_group_id=77", [c, b]],
    ["?to_group_id=77&reference=r-1", [c]],
    ["?from=2026-01-01T00:00:02Z", [c, b]],
    ["?to=2026-01-01T00:00:02Z", [a]],
    ["?from=2026-01-01T00:00:02Z&to=2026-01-01T00:00:03Z", [b]],
  ];
  for (const [query, expected] of cases)
    assert.deepEqual(
      await listed(account, query),
      expected.map(({ id }) => id),
      query,
    );
});

test("the filter by number finds the calls of an agent or a customer by each spelling of the number, and the report counts them", async () => {
  const { account, make } = await newAccount();
  const [short, long] = ["551187654321", "5511987654321"];
  const calls = [
    { to_phone: short },
    { to_phone: long },
    { from_number: short },
    { from_number: long },
  ];
  const ids: number[] = [];
  for (const [second, call] of calls.entries())
    ids.unshift((await make({ call: { ...failed, queued_at: at(second), ...call } })).id);
  await make({ call: { ...failed, to_phone: "5511987654322" } });
  for (const number of [short, long])
    assert.deepEqual(await listed(account, `?number=%2B${number}`), ids, number);
  const [newest] = await listed(account, `?number=%2B${short}&limit=1`);
  assert.equal(newest, ids[0]);
  const report = `/api/v1/reports/calls?group_by=day&from=2026-01-01&to=2026-01-02&number=%2B${short}`;
  const { status, body, text } = await api.send("GET", report, { token: account.token });
  assert.equal(status, 200, text);
  assert.equal(body.totals.calls, ids.length);
});

test("the filter by type returns the calls whose record has the type", async () => {
  const { account, make } = await newAccount();
  const { id: click } = await make({ call: { ...failed } });
  const { id: incoming } = await make({ call: { ...failed, direction: "inbound" } });
  const campaign = await makeVoiceCampaign(api.app, account);
  const voice = await makeVoiceCall(api.app, account, campaign);
  const { body } = await get(account, "");
  const types = new Map<number, string>(
    body.data.map((row: { call_id: number; type: string }) => [row.call_id, row.type]),
  );
  assert.deepEqual(
    [click, incoming, voice].map((id) => types.get(id)),
    ["click_to_call", "incoming", "voice_campaign"],
  );
  for (const [id, type] of types)
    assert.deepEqual(await listed(account, `?type=${type}`), [id], type);
  const { text } = await get(account, "/export?type=incoming");
  assert.equal(text.trim().split("\r\n").length, 2);
});

test("reports every invalid filter with 422", async () => {
  const { account } = await newAccount();
  const violations: [string, string[]][] = [
    ["?type=obd_ivr", ["type"]],
    ["?status=ended", ["status"]],
    ["?status=busy,", ["status"]],
    ["?number=abc", ["number"]],
    ["?from=x&to=y", ["from", "to"]],
    ["?cursor=x", ["cursor"]],
    ["?limit=201", ["limit"]],
    ["?numbr=1", ["numbr"]],
  ];
  for (const [query, fields] of violations) {
    const answer = await get(account, query);
    assert.equal(answer.status, 422, query);
    assert.deepEqual(failingFields(answer), fields, query);
  }
});

test("pages of any filter return every call once, newest first, also those queued at the same time", async () => {
  const { account, make } = await newAccount();
  const made: number[] = [];
  for (let i = 0; i < 11; i++) {
    const status = i % 2 === 0 ? failed : { ...failed, status: "busy" };
    const { id } = await make({ call: { ...status, queued_at: at(Math.floor(i / 3)) } });
    made.unshift(id);
  }
  for (const query of [
    "limit=2",
    "limit=2&status=busy,no-answer",
    "limit=2&number=101",
    "limit=2&type=click_to_call",
  ]) {
    const seen: number[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? "" : `&cursor=${cursor}`;
      const { body } = await get(account, `?${query}${more}`);
      seen.push(...body.data.map((row: { call_id: number }) => row.call_id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(seen, made, query);
  }
});

test("the next page continues at its cursor, even when the call of the cursor was deleted", async () => {
  const { account, make } = await newAccount();
  const made: number[] = [];
  for (let i = 0; i < 5; i++)
    made.unshift((await make({ call: { ...failed, queued_at: at(i) } })).id);
  const first = (await get(account, "?limit=2")).body;
  const { pool } = api.app.db;
  const values = [account.account_id, made[1]];
  await pool.query("delete from call_legs where account_id = $1 and call_id = $2", values);
  await pool.query("delete from calls where account_id = $1 and id = $2", values);
  const rest = (await get(account, `?limit=10&cursor=${first.next_cursor}`)).body.data;
  assert.deepEqual(
    rest.map((row: { call_id: number }) => row.call_id),
    made.slice(2),
  );
});

test("a call names its contact, in the list and alone, for those who may see contacts", async () => {
  const account = await makeAccount(api.app);
  await makeCredits(api.app, account, { call: 10 });
  const { id } = await makeCall(api.app, account, { place, ...talked });
  await makeContact(api.app, account, { phone: "9876543210", name: "Asha" });
  const namesFor = async (token: string) => {
    const list = await api.send("GET", "/api/v1/calls", { token });
    const one = await api.send("GET", `/api/v1/calls/${id}`, { token });
    return [list.body.data[0].contact_name, one.body.contact_name];
  };
  assert.deepEqual(await namesFor(account.token), ["Asha", "Asha"]);
  const agent = await makeAgentToken(api.app, account, ["calls.read"]);
  assert.deepEqual(await namesFor(agent), [null, null]);
});

test("an export has every call as in the list, with legs as JSON and spreadsheet formulas escaped", async () => {
  const { account, make } = await newAccount();
  await make(talked);
  for (let i = 0; i < 501; i++) {
    const queued_at = at(-1 - i);
    await make({ asked: { from_number: "+919811111111" }, call: { ...failed, queued_at } });
  }
  const answer = await get(account, "/export");
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8");
  assert.equal(answer.headers.get("content-disposition"), 'attachment; filename="calls.csv"');
  const rows: Record<string, string>[] = parse(answer.text, { columns: true });
  assert.equal(new Set(rows.map((row) => row["call_id"])).size, 502);
  const shown = (await get(account, `?reference=order-7`)).body.data[0];
  const { legs, menu_path, collected, messages, contact_name, ...cells } = shown;
  assert.equal(contact_name, null);
  for (const [field, value] of Object.entries({ legs, menu_path, collected, messages }))
    assert.equal(rows[0]![field], JSON.stringify(value), field);
  assert.equal(rows[0]!["remark"], "'=VIP");
  assert.equal(rows[1]!["from_number"], "+919811111111");
  for (const [field, value] of Object.entries<string | number | null>({
    ...cells,
    remark: "'=VIP",
  }))
    assert.equal(rows[0]![field], String(value ?? ""), field);
  assert.deepEqual(
    Object.keys(rows[0]!),
    Object.keys(shown).filter((field) => field !== "contact_name"),
  );
  const narrowed = await get(account, `/export?reference=order-7`);
  assert.equal(narrowed.text.trim().split("\r\n").length, 2);
  const audit = await api.app.db.query
    .selectFrom("audit_entries")
    .select("detail")
    .where("account_id", "=", account.account_id)
    .where("action", "=", "calls.exported")
    .orderBy("id")
    .execute();
  assert.deepEqual(
    audit.map(({ detail }) => detail),
    [{ filters: [] }, { filters: ["reference"] }],
  );
});
