// Voice campaign calls on their recipients' leads.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeContact, makeCustomField } from "../../../test/support/crm-factory.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { setCalling } from "../../../test/support/telephony-factory.ts";
import {
  makeVoiceCall,
  makeVoiceCampaign,
  type VoiceCallToMake,
} from "../../../test/support/voice-factory.ts";
import { recordCallOutcome } from "./record-call-outcome.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

async function openChatFixture(
  recipients: readonly Record<string, unknown>[] = [{}],
  country_code = "91",
) {
  const { app } = api;
  const account = await makeAccount(app);
  await setCalling(app, account, { country_code });
  const { account_id, workspace_id, token } = account;
  const campaign = await makeVoiceCampaign(app, account, {
    campaign: { name: "Spring", call_type: "ai_bot", crm_workspace_id: workspace_id },
    recipients,
  });
  const leads = `/api/v1/crm/workspaces/${workspace_id}/leads`;
  const get = async (path: string) => (await api.send("GET", `${leads}${path}`, { token })).body;
  return {
    account,
    campaign,
    call: (call: VoiceCallToMake = {}) => makeVoiceCall(app, account, campaign, call),
    record: (call_id: number) =>
      recordCallOutcome(app, { account_id, payload: { call_id, workspace_id } }),
    create: async (lead: Record<string, unknown>) => {
      const answer = await api.send("POST", `${leads}/create`, { token, json: lead });
      assert.equal(answer.status, 201, answer.text);
      return answer.body.id as number;
    },
    leads: async () => (await get("?limit=200")).data as Record<string, unknown>[],
    lead: (id: number | null) => get(`/${id}`),
    timeline: async (id: number | null) =>
      ((await get(`/${id}/timeline`)).data as Entry[]).toReversed(),
    leadOf: async (call_id: number) => {
      const path = `/api/v1/calls/${call_id}`;
      return (await api.send("GET", path, { token })).body.lead_id as number | null;
    },
  };
}

type Entry = { kind: string; userId: number | null; data: Record<string, unknown> };

async function events({ account_id }: TestAccount): Promise<string[]> {
  const rows = await api.app.db.query
    .selectFrom("events")
    .select("type")
    .where("account_id", "=", account_id)
    .orderBy("id")
    .execute();
  return rows.map(({ type }) => type);
}

test("records a call once on the newest lead of its phone, with the valid fields, however often the job runs", async () => {
  const fixture = await openChatFixture();
  const { account, call, record, create } = fixture;
  await makeCustomField(api.app, account, { key: "score", type: "number" });
  const options = ["Gold", "Silver"];
  await makeCustomField(api.app, account, { key: "plan", type: "select", options });
  await makeCustomField(api.app, account, { key: "asked_for", type: "text" });
  const older = await create({ phone: "9800000001", name: "Older" });
  const newest = await create({ phone: "9800000001", name: "Newest" });
  await create({ phone: "9800000002", name: "Someone else" });
  const call_id = await call({
    call: {
      dtmf: "12",
      answered_by: "human",
      talk_seconds: 42,
      collected: JSON.stringify({ city: "Pune" }),
      lead_fields: JSON.stringify({
        score: "7",
        plan: "gold",
        asked_for: "a callback",
        unknown: "x",
      }),
      callback_at: new Date("2026-01-02T03:04:05Z"),
      opted_out: true,
      recording_state: "recording",
    },
    said: [
      { who: "agent", text: "Hello" },
      { who: "caller", text: "Hi ".repeat(5_000) },
    ],
  });
  await Promise.all([record(call_id), record(call_id), record(call_id)]);
  await record(call_id);
  assert.equal(await fixture.leadOf(call_id), newest);
  const { customFields, name } = await fixture.lead(newest);
  assert.equal(name, "Newest");
  assert.deepEqual(customFields, { score: 7, plan: "Gold", asked_for: "a callback" });
  const timeline = await fixture.timeline(newest);
  assert.deepEqual(
    timeline.map(({ kind, userId }) => [kind, userId]),
    [
      ["created", account.owner_id],
      ["updated", null],
      ["call", null],
    ],
  );
  const { transcript, ...data } = timeline[2]!.data;
  assert.equal((transcript as string).length, 10_000);
  assert.ok((transcript as string).startsWith("agent: Hello\ncaller: Hi Hi"));
  assert.deepEqual(data, {
    callId: call_id,
    campaignId: fixture.campaign.id,
    campaignName: "Spring",
    status: "completed",
    outcome: "answered",
    endedReason: "hung_up",
    answeredBy: "human",
    talkSeconds: 42,
    keys: "12",
    collected: { city: "Pune" },
    recordingUrl: `/api/v1/calls/${call_id}/recording`,
    callbackAt: "2026-01-02T03:04:05.000Z",
    optedOut: true,
    fieldsNotSet: [{ field: "unknown", reason: "is not a custom field of this workspace" }],
  });
  assert.deepEqual(
    (await fixture.timeline(older)).map(({ kind }) => kind),
    ["created"],
  );
  assert.equal((await fixture.leads()).length, 3);
  assert.deepEqual((await events(account)).slice(-2), ["lead.created", "lead.updated"]);
});

test("creates one lead and contact for a phone without a lead, for all its concurrent calls, even without a required field", async () => {
  const fixture = await openChatFixture([{}, { number: "+919800000002", phone: "919800000002" }]);
  const { account, call, record } = fixture;
  await makeCustomField(api.app, account, { key: "region", type: "text", required: true });
  await makeCustomField(api.app, account, { key: "score", type: "number" });
  const contact_id = await makeContact(api.app, account, { phone: "9800000002", name: "Ada" });
  const calls: number[] = [];
  for (const score of ["1", "two", "1"])
    calls.push(await call({ call: { lead_fields: JSON.stringify({ score }) } }));
  calls.push(await call({ recipient_id: 2, call: { disposition: "busy" } }));
  await Promise.all(calls.map(record));
  const found = await fixture.leads();
  assert.equal(found.length, 2);
  const [one, two] = await Promise.all([calls[0]!, calls[3]!].map(fixture.leadOf));
  for (const call_id of calls.slice(0, 3)) assert.equal(await fixture.leadOf(call_id), one);
  const lead = await fixture.lead(one!);
  assert.deepEqual(
    [lead.name, lead.phone, lead.createdBy, lead.contact.name, lead.customFields],
    ["Untitled", "9800000001", account.owner_id, "Untitled", { score: 1 }],
  );
  const entries = (await fixture.timeline(one!)).filter(({ kind }) => kind === "call");
  assert.equal(entries.length, 3);
  assert.deepEqual(
    entries.flatMap(({ data }) => data["fieldsNotSet"]),
    [{ field: "score", reason: "must be a number" }],
  );
  const { contactId, name } = await fixture.lead(two!);
  assert.deepEqual([contactId, name], [contact_id, "Untitled"]);
  assert.equal((await events(account)).filter((type) => type === "lead.created").length, 2);
});

for (const [country_code, phone] of [
  ["55", "5511987654321"],
  ["54", "5491187654321"],
  ["52", "5211187654321"],
] as const)
  test(`records a call to ${phone} on the lead of the number's other spelling, of ten digits in the country ${country_code}`, async () => {
    const fixture = await openChatFixture([{ number: `+${phone}`, phone }], country_code);
    const lead = await fixture.create({ phone: "1187654321", name: "Ada" });
    const call_id = await fixture.call();
    await fixture.record(call_id);
    assert.equal(await fixture.leadOf(call_id), lead);
    assert.equal((await fixture.leads()).length, 1);
    const kinds = (await fixture.timeline(lead)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["created", "call"]);
  });

test("never records a call on the lead of another country's number with the same ten digits", async () => {
  const fixture = await openChatFixture([{ number: "9876543210", phone: "449876543210" }]);
  const indian = await fixture.create({ phone: "9876543210", name: "Ada" });
  await setCalling(api.app, fixture.account, { country_code: "44" });
  const call_id = await fixture.call();
  await fixture.record(call_id);
  assert.notEqual(await fixture.leadOf(call_id), indian);
  assert.equal((await fixture.leads()).length, 2);
  const kinds = (await fixture.timeline(indian)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["created"]);
});

test("counts a lead that a call creates, and none for a lead that exists", async () => {
  const created = async () => (await api.app.metrics.leadsCreated.get()).values[0]!.value;
  const { call, record } = await openChatFixture();
  const before_count = await created();
  await record(await call());
  assert.equal(await created(), before_count + 1);
  await record(await call());
  assert.equal(await created(), before_count + 1);
});

test("drops a call whose phone is invalid for a lead, or whose workspace is inactive", async () => {
  const fixture = await openChatFixture([{ number: "+12025550123", phone: "12025550123" }, {}]);
  const { account, call, record } = fixture;
  const abroad = await call();
  await record(abroad);
  const late = await call({ recipient_id: 2 });
  const { account_id, workspace_id } = account;
  const setActive = (active: boolean) =>
    api.app.db.query
      .updateTable("workspaces")
      .set({ active })
      .where("account_id", "=", account_id)
      .where("id", "=", workspace_id)
      .execute();
  await setActive(false);
  await record(late);
  await setActive(true);
  assert.deepEqual(await fixture.leads(), []);
  for (const call_id of [abroad, late]) assert.equal(await fixture.leadOf(call_id), null);
});
