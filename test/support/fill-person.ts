// Stores a person in every table that keeps people, as the service stores them.
import type { TestAccount } from "./account-factory.ts";
import { unique } from "./account-factory.ts";
import type { TestApi } from "./api.ts";
import { failed, makeCall } from "./call-factory.ts";
import { makeChatCampaign, makeChatNumber, makeChatTemplate } from "./chat-factory.ts";
import { counted_columns } from "../../server/reports/count-calls.ts";
import { phoneKey } from "../../server/lib/phone-key.ts";
import { makeCustomField } from "./crm-factory.ts";
import { wamid } from "./identity-traces.ts";
import { makeNode, makeTrunk } from "./telephony-factory.ts";
import { makeVoiceCall, makeVoiceCampaign } from "./voice-factory.ts";

/** A person's phone in one of its spellings (E.164 digits), and the WhatsApp user ID. */
export type Identities = {
  readonly phone: string;
  readonly bsuid: string;
  readonly country_code: string;
};

type Place = { readonly api: TestApi; readonly owner: TestAccount };

const somebody = "919800000002";
let filled_reports = 0;

/** Stores the person in the account; repeatable with other spellings. */
export async function fillPerson(api: TestApi, owner: TestAccount, of: Identities): Promise<void> {
  const place = { api, owner };
  await fillAudience(place, of);
  if (of.phone.length === of.country_code.length + 10) await fillCrm(place, of);
  await fillUploads(place, of);
  await fillChat(place, of);
  await fillResponses(place, of);
  await fillInbox(place, of);
  await fillCalls(place, of);
  await fillVoice(place, of);
}

async function insert({ api, owner }: Place, table: string, row: object): Promise<number> {
  const values = Object.entries({ account_id: owner.account_id, ...row });
  const names = values.map(([name]) => name).join(", ");
  const places = values.map((_, i) => `$${i + 1}`).join(", ");
  const { rows } = await api.app.db.pool.query<{ id: number }>(
    `insert into ${table} (${names}) values (${places}) on conflict do nothing returning *`,
    values.map(([, value]) => value),
  );
  return rows[0]?.id ?? 0;
}

async function fillAudience(place: Place, { phone, bsuid }: Identities): Promise<void> {
  const at = place.api.clock.now();
  const { rows } = await place.api.app.db.pool.query<{ key: string }>(
    "select phone_key($1) as key",
    [phone],
  );
  const { key } = rows[0]!;
  await insert(place, "person_bsuids", { bsuid, phone_key: key });
  for (const [phone_key, alias_key] of [
    [key, "447700900123"],
    ["447700900123", key],
  ])
    await insert(place, "phone_aliases", { phone_key, alias_key });
  const stored = { person_key: key, phone, bsuid, channel: "chat", scope: "all", occurred_at: at };
  const view = { user_id: place.owner.owner_id, page: "leads", columns: [], shared: true };
  const search = JSON.stringify({ phone_number: `+${phone}` });
  const stamps = { created_at: at, updated_at: at };
  await insert(place, "saved_views", { ...view, name: `Leads of ${phone}`, search, ...stamps });
  const evidence = JSON.stringify({ message_id: wamid(phone, "stop"), text: `Stop ${phone}` });
  const reply = { source: "reply", reason: `${phone} replied`, evidence, created_at: at };
  await insert(place, "suppressions", { ...stored, ...reply });
  const lifted = { source: "provider", reason: "x", created_at: at, lifted_at: at, expires_at: at };
  await insert(place, "suppressions", { ...stored, ...lifted });
  const group = await insert(place, "groups", {
    name: unique("group"),
    created_at: at,
    updated_at: at,
  });
  const member = { phone_key: key, phone, name: `Asha ${phone}`, created_at: at };
  const variables = JSON.stringify({ "1": `+${phone}` });
  await insert(place, "group_members", { ...member, group_id: group, variables });
}

async function fillCrm(place: Place, { phone }: Identities): Promise<void> {
  const { api, owner } = place;
  const national = phone.slice(-10);
  const { account_id, workspace_id, token } = owner;
  await makeCustomField(api.app, owner, { key: "mobile", type: "text" });
  const base = `/api/v1/crm/workspaces/${workspace_id}/leads`;
  const send = async (method: string, path: string, json: unknown, key: string) => {
    const headers = { "idempotency-key": unique(key) };
    const answer = await api.send(method, path, { token, json, headers });
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.body as { id: number; contactId: number };
  };
  const lead = await send(
    "POST",
    `${base}/create`,
    {
      phone: national,
      name: `Asha ${national}`,
      email: `${national}@test.example`,
      customFields: { mobile: `+${phone}` },
    },
    "lead",
  );
  // Of the contact, with another phone.
  await send("POST", `${base}/create`, { phone: "9800000009", contactId: lead.contactId }, "lead");
  await send("PATCH", `${base}/${lead.id}`, { name: `Asha, ${national}` }, "patch");
  const note = { lead_id: lead.id, kind: "note", at: api.clock.now() };
  await insert(place, "lead_timeline", { ...note, data: JSON.stringify({ text: national }) });
  await api.app.db.pool.query(
    "update contacts set name = $3, email = $4 where account_id = $1 and id = $2",
    [account_id, lead.contactId, `Asha ${national}`, `${national}@test.example`],
  );
}

async function fillUploads(place: Place, { phone }: Identities): Promise<void> {
  const { owner, api } = place;
  const upload = {
    workspace_id: owner.workspace_id,
    created_by: owner.owner_id,
    file_name: "people.csv",
    column_map: '{"phone": "Phone"}',
    header: ["Phone", "Name"],
    state: "processing",
    total_rows: 2,
    created_at: api.clock.now(),
  };
  const import_id = await insert(place, "lead_imports", upload);
  const cells = [`+${phone.slice(0, 5)} ${phone.slice(5)}`, "Asha"];
  await insert(place, "lead_import_rows", { import_id, row_number: 1, cells });
  await insert(place, "lead_import_rejects", { import_id, row_number: 2, cells, errors: "[]" });
}

async function fillChat(place: Place, { phone, bsuid }: Identities): Promise<void> {
  const { api, owner } = place;
  const number = await makeChatNumber(api.app, owner);
  const template = await makeChatTemplate(api.app, owner, number);
  const people = [phone, phone, somebody].map((each) => ({
    phone: each,
    variables: { "1": `+${each}` },
  }));
  const campaign_id = await makeChatCampaign(api.app, owner, number, template, people);
  const { pool } = api.app.db;
  const { rows } = await pool.query<{ id: number; phone: string }>(
    "select id, phone from chat_recipients where account_id = $1 and campaign_id = $2 order by id",
    [owner.account_id, campaign_id],
  );
  // A recipient known by the user ID alone.
  await pool.query(
    "update chat_recipients set phone = null, bsuid = $3 where account_id = $1 and id = $2",
    [owner.account_id, rows[1]!.id, bsuid],
  );
  for (const [dispatches, state] of ["dispatching", "sent", "read"].entries()) {
    const moves = rows.map(({ id, phone: to }) => ({
      campaign_id,
      id,
      dispatches: Math.min(dispatches, 1),
      state,
      provider_message_id: state === "dispatching" ? null : wamid(to, `${owner.account_id}.${id}`),
      due_at: api.clock.now(),
    }));
    await pool.query("select from chat_move_recipients_json($1, 'inbound', $2, $3)", [
      owner.account_id,
      JSON.stringify(moves),
      api.clock.now(),
    ]);
  }
}

/** Stores the responses to a test message and to an answer to the person, and to an answer to somebody else. */
async function fillResponses(place: Place, { phone }: Identities): Promise<void> {
  for (const [endpoint, to] of [
    ["sendChatTest", phone],
    ["sendChatAnswer", phone],
    ["sendChatAnswer", somebody],
  ] as const) {
    const provider_message_id = wamid(to, unique("message"));
    const sent = { message_id: unique("message"), outcome: "accepted", provider_message_id };
    await insert(place, "idempotency_keys", {
      endpoint,
      key: unique("key"),
      request_sha256: Buffer.alloc(32),
      status: 200,
      response: JSON.stringify({ ...sent, error: null, error_code: null }),
      created_at: place.api.clock.now(),
    });
  }
}

async function fillInbox(place: Place, { phone, bsuid }: Identities): Promise<void> {
  const { api, owner } = place;
  const replies = [null, phone].map((known, i) => ({
    phone: known,
    bsuid,
    provider_message_id: wamid(phone, unique("reply")),
    type: i === 0 ? "button" : "text",
    text: `My number is +${phone}`,
    payload: `ORDER_${phone}`,
    content: { contacts: [{ phones: [{ wa_id: phone }] }] },
    answers: null,
    opted_out: false,
    at: api.clock.now(),
  }));
  await api.app.db.pool.query("select from record_chat_replies($1, 1, $2)", [
    owner.account_id,
    JSON.stringify(replies),
  ]);
  await api.app.db.pool.query("update chat_replies set answers = $2 where account_id = $1", [
    owner.account_id,
    JSON.stringify([{ text: `We will call +${phone}` }]),
  ]);
  const unread = { chat_number_id: 1, driver: "meta", received_at: api.clock.now() };
  for (const from of [phone, bsuid])
    await insert(place, "chat_unread_webhooks", {
      ...unread,
      body: JSON.stringify({ messages: [{ from }] }),
      reason: "unknown",
    });
  for (const kind of ["chat.notify_call", "crm.record_missed_call"])
    await insert(place, "jobs", {
      kind,
      subject: unique("call"),
      payload: JSON.stringify({ phone }),
      run_at: "2036-01-01",
      created_at: api.clock.now(),
    });
}

async function fillCalls(place: Place, { phone }: Identities): Promise<void> {
  const { api, owner } = place;
  const node_id = await makeNode(api.app, { connected: true });
  const at = { place: { node_id, trunk_id: await makeTrunk(api.app, [node_id]) } };
  const now = api.clock.now();
  const over = { ...failed, ended_at: now };
  const customer = { to_number: phone.slice(-10), to_phone: phone };
  const about = { remark: `Call ${phone}`, reference: phone, source: phone };
  await makeCall(api.app, owner, { ...at, call: customer, asked: { ...customer, ...about } });
  const texts = { dtmf: phone, collected: JSON.stringify({ mobile: phone }) };
  const fields = JSON.stringify({ mobile: phone });
  const ended = await makeCall(api.app, owner, {
    ...at,
    call: { ...over, ...customer, ...texts, lead_fields: fields, recording_state: "ready" },
    asked: { ...customer, ...about },
    legs: [{}, { role: "customer", number: phone }],
  });
  const agent = await makeCall(api.app, owner, {
    ...at,
    call: { ...over, from_number: `+${phone}`, to_number: "9800000002", to_phone: somebody },
    asked: { from_number: `+${phone}`, to_number: "9800000002", to_phone: somebody },
    legs: [{ number: `+${phone}` }, { role: "customer", number: somebody }],
  });
  // The agent's group rang the person's phone instead, and a colleague transferred the call to it.
  const rung = await makeCall(api.app, owner, {
    ...at,
    call: { ...over, to_number: "9800000002", to_phone: somebody },
    asked: { to_number: "9800000002", to_phone: somebody },
    legs: [
      {},
      { number: phone, answered_at: now },
      { role: "transfer", number: phone },
      { role: "customer", number: somebody },
    ],
  });
  await insert(place, "call_transcripts", {
    call_id: rung.id,
    at: now,
    who: "caller",
    text: phone,
  });

  await insert(place, "call_usage", {
    subject: `number:${phoneKey(phone)}`,
    hour: now,
    slot: 0,
    legs: 3,
  });
  for (const { id } of [ended, agent, rung]) {
    const data = JSON.stringify({ call_id: id, agent_number: phone, legs: [{ number: phone }] });
    await insert(place, "call_events", { call_id: id, type: "call.bridged", at: now, data });
    await insert(place, "events", { type: "call.bridged", occurred_at: now, data });
  }
  await fillReport(place, { phone });
}

/** Stores a folded day of reports with the person's phone as an agent's number and as a caller ID. */
async function fillReport(place: Place, { phone }: Pick<Identities, "phone">): Promise<void> {
  const now_ms = place.api.clock.now().getTime();
  const begins_at = new Date(now_ms - (now_ms % 86_400_000));
  await insert(place, "call_report_days", {
    begins_at,
    ends_at: new Date(begins_at.getTime() + 86_400_000),
  });
  const zeros = Object.fromEntries(
    counted_columns.filter((one) => one !== "in_progress").map((one) => [one, 0]),
  );
  const counts = { begins_at, type: "click_to_call", agent: phone, caller: phone, ...zeros };
  await insert(place, "call_report_counts", { ...counts, place: (filled_reports += 1) });
}

async function fillVoice(place: Place, { phone }: Identities): Promise<void> {
  const { api, owner } = place;
  const campaign = await makeVoiceCampaign(api.app, owner, {
    recipients: [
      {
        number: phone.slice(-10),
        phone,
        state: "answered",
        variables: JSON.stringify({ mobile: phone }),
      },
    ],
  });
  const call_id = await makeVoiceCall(api.app, owner, campaign, {
    steps: [{ node: "start", key: phone }],
    said: [{ who: "caller", text: `It is ${phone}` }],
    messages: [{ recording: unique("message"), node: "box", state: "ready" }],
  });
  const value = `+${phone.slice(0, 4)}-${phone.slice(4)}`;
  await insert(place, "voice_rejects", { campaign_id: campaign.id, row: 1, value, reason: "x" });
  const data = JSON.stringify({ call_id, from_number: "9000000000", to_number: phone.slice(-10) });
  await insert(place, "events", { type: "call.completed", occurred_at: api.clock.now(), data });
}
