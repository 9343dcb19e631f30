import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  unique,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { makeCall } from "../../test/support/call-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
} from "../../test/support/chat-factory.ts";
import { liftSuppressions } from "../audience/suppressions/lift-suppressions.ts";
import { suppress } from "../audience/suppressions/suppress.ts";
import { rowsRead } from "../../test/support/rows-read.ts";
import { setCalling } from "../../test/support/telephony-factory.ts";
import { readPersonTimeline } from "./person-timeline.ts";

let api: TestApi;
let account: TestAccount;
let other: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 1_000, call: 1_000 });
  other = await makeAccount(api.app);
});
after(() => api.close());

const get = (path: string, token = account.token) => api.send("GET", `/api/v1${path}`, { token });

async function post(path: string, json: unknown) {
  const { status, body, text } = await api.send("POST", `/api/v1${path}`, {
    token: account.token,
    json,
  });
  assert.equal(status, 201, text);
  return body;
}

const makeLead = (json: object) =>
  post(`/crm/workspaces/${account.workspace_id}/leads/create`, json);

/** One minute later, so that the order is the order of these calls. */
const pass = () => api.clock.set(new Date(api.clock.now().getTime() + 60_000));

function timesOf(state: string): Record<string, Date> {
  const at = api.clock.now();
  if (state === "queued") return {};
  if (["accepted", "sent", "delivered", "read"].includes(state))
    return { dispatched_at: at, accepted_at: at };
  return { dispatched_at: at, ended_at: at };
}

/** Sends to the phone and stores the outcome, as the provider reports it. */
async function makeMessage(phone: string, state: string, of: TestAccount = account) {
  const number = await makeChatNumber(api.app, of);
  const template = await makeChatTemplate(api.app, of, number);
  const campaign_id = await makeChatCampaign(api.app, of, number, template, [{ phone }]);
  await api.app.db.query
    .updateTable("chat_recipients")
    .set({ state, ...timesOf(state) })
    .where("account_id", "=", of.account_id)
    .where("campaign_id", "=", campaign_id)
    .execute();
  return { campaign_id, chat_number_id: number.id };
}

const makeReply = (phone: string | null, chat_number_id: number, more: { bsuid?: string } = {}) =>
  api.app.db.query
    .insertInto("chat_replies")
    .values({
      account_id: account.account_id,
      chat_number_id,
      provider_message_id: unique("wamid"),
      phone,
      ...more,
      type: "text",
      text: "Call me",
      opted_out: false,
      received_at: api.clock.now(),
      answers: JSON.stringify([
        {
          message_id: "answer.1",
          text: "At three",
          outcome: "accepted",
          error: null,
          sent_by: account.owner_id,
          sent_at: new Date(api.clock.now().getTime() + 1_000).toISOString(),
        },
      ]),
    })
    .execute();

/** A person with an entry of each kind, the newest last. */
async function makePerson(phone10: string) {
  const phone = `91${phone10}`;
  const lead = await makeLead({ phone: phone10, name: "Ada" });
  pass();
  await post(`/crm/workspaces/${account.workspace_id}/leads/${lead.id}/notes`, { text: "Hello" });
  pass();
  const { chat_number_id } = await makeMessage(phone, "read");
  pass();
  await makeMessage(phone, "undelivered");
  pass();
  await makeReply(phone, chat_number_id);
  pass();
  await makeCall(api.app, account, {
    asked: { remark: "About the order" },
    call: { to_number: phone10, to_phone: phone },
  });
  pass();
  await makeSuppression(api.app, account, phone);
  pass();
  const group = await post("/groups", { name: unique("group") });
  await api.send("POST", `/api/v1/groups/${group.id}/members`, {
    token: account.token,
    json: { members: [{ phone_number: phone10, name: "Ada" }] },
  });
  return lead;
}

const lines = (body: { data: { kind: string; event: string }[] }) =>
  body.data.map(({ kind, event }) => `${kind} ${event}`);

const whole = [
  "group joined",
  "suppression suppressed",
  "call queued",
  "answer accepted",
  "reply text",
  "message failed",
  "message read",
  "lead note",
  "lead created",
];

test("a person's timeline has every entry over leads, messages, calls and consent, newest first", async () => {
  const lead = await makePerson("8100000001");
  const { status, body } = await get("/people/timeline?phone_number=8100000001");
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(lines(body), whole);
  assert.equal(body.next_cursor, null);
  const note = body.data[7];
  assert.equal(note.data.lead_id, lead.id);
  assert.deepEqual(note.data.data, { text: "Hello" });
  const { text, sent_by } = body.data[3].data;
  assert.deepEqual({ text, sent_by }, { text: "At three", sent_by: account.owner_id });
  assert.equal(body.data[2].data.remark, "About the order");
});

test("the pages of a person's timeline together are the whole, without a gap or a repetition", async () => {
  await makePerson("8100000002");
  const found: string[] = [];
  let cursor: string | null = "";
  for (let pages = 0; cursor !== null; pages++) {
    assert.ok(pages < 10);
    const more: string = cursor ? `&cursor=${cursor}` : "";
    const { body } = await get(`/people/timeline?phone_number=8100000002&limit=3${more}`);
    found.push(...lines(body));
    cursor = body.next_cursor;
  }
  assert.deepEqual(found, whole);
  const bad = await get("/people/timeline?phone_number=8100000002&cursor=MTI");
  assert.equal(bad.status, 422);
  assert.equal(bad.body.errors[0].field, "cursor");
});

test("a person's timeline of some kinds has all entries of these kinds and no other", async () => {
  await makePerson("8100000006");
  const { body } = await get("/people/timeline?phone_number=8100000006&kinds=answer,call");
  assert.deepEqual(lines(body), ["call queued", "answer accepted"]);
  const bad = await get("/people/timeline?phone_number=8100000006&kinds=calls");
  assert.equal(bad.status, 422);
});

test("several entries at one time are each on exactly one page", async () => {
  for (let i = 0; i < 5; i++) await makeMessage("918100000003", "read");
  const first = await get("/people/timeline?phone_number=8100000003&limit=2");
  const second = await get(
    `/people/timeline?phone_number=8100000003&limit=3&cursor=${first.body.next_cursor}`,
  );
  const ids = [...first.body.data, ...second.body.data].map(({ data }) => data.recipient_id);
  assert.equal(new Set(ids).size, 5);
  assert.equal(second.body.next_cursor, null);
});

test("a person's timeline finds every spelling of the number", async () => {
  await makeMessage("551181234567", "read");
  await makeMessage("5511981234567", "undelivered");
  for (const number of ["551181234567", "5511981234567"]) {
    const { body } = await get(`/people/timeline?phone_number=%2B${number}`);
    assert.deepEqual(lines(body).toSorted(), ["message failed", "message read"]);
  }
});

test("each permission shows its own part of a person's timeline, and no other", async () => {
  await makePerson("8100000004");
  const shown = {
    "crm.read": ["lead"],
    "chat.read": ["message", "reply", "answer"],
    "calls.read": ["call"],
    "suppressions.read": ["suppression"],
    "groups.read": ["group"],
  } as const;
  for (const [permission, kinds] of Object.entries(shown)) {
    const token = await makeAgentToken(api.app, account, [permission as keyof typeof shown]);
    const { body } = await get("/people/timeline?phone_number=8100000004", token);
    const found = new Set(body.data.map(({ kind }: { kind: string }) => kind));
    assert.deepEqual(found, new Set(kinds), permission);
    const searched = await get("/people?q=8100000004", token);
    const [person] = searched.body.data;
    assert.equal(person.leads, permission === "crm.read" ? 1 : 0, permission);
    if (permission === "calls.read") {
      assert.deepEqual(person, {
        phone_number: "918100000004",
        name: null,
        email: null,
        leads: 0,
        found_in: ["calls"],
      });
    }
  }
});

test("another account's people are neither on a timeline nor found", async () => {
  await makePerson("8100000005");
  const { body } = await get("/people/timeline?phone_number=8100000005", other.token);
  assert.deepEqual(body, { data: [], next_cursor: null });
  for (const q of ["8100000005", "Ada"]) {
    assert.deepEqual((await get(`/people?q=${q}`, other.token)).body, { data: [] });
  }
});

/** Stores replies of the person that are this many minutes old, in the order in which their webhooks arrive. */
async function makeReplies(
  minutes: readonly number[],
  from: { phone: string | null; bsuid?: string },
) {
  const { id } = await makeChatNumber(api.app, account);
  const now = api.clock.now();
  const { phone, ...more } = from;
  for (const age of minutes) {
    api.clock.set(new Date(now.getTime() - age * 60_000));
    await makeReply(phone, id, more);
  }
  api.clock.set(now);
}

/** Returns the ages, in minutes, of all entries of the kinds, read in pages of one. */
async function agesOf(phone10: string, kinds: string) {
  const ages: number[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const more: string = cursor ? `&cursor=${cursor}` : "";
    const path = `/people/timeline?phone_number=${phone10}&kinds=${kinds}&limit=1${more}`;
    const { body } = await get(path);
    for (const { at } of body.data)
      ages.push((api.clock.now().getTime() - Date.parse(at)) / 60_000);
    cursor = body.next_cursor;
  }
  return ages;
}

async function assertNewestFirst(phone10: string, bsuid?: string) {
  if (bsuid !== undefined)
    await api.app.db.query
      .insertInto("person_bsuids")
      .values({ account_id: account.account_id, bsuid, phone_key: `91${phone10}` })
      .execute();
  for (let i = 0; i < 60; i++) pass();
  const to_phone = `91${phone10}`;
  const queued_at = new Date(api.clock.now().getTime() - 5 * 60_000);
  await makeCall(api.app, account, { call: { to_number: phone10, to_phone, queued_at } });
  await makeReplies(
    [3, 1, 30, 2, 20],
    bsuid === undefined ? { phone: to_phone } : { phone: null, bsuid },
  );
  assert.deepEqual(await agesOf(phone10, "reply,call"), [1, 2, 3, 5, 20, 30]);
}

test("a reply whose webhook is late hides no newer entry of the person's timeline", () =>
  assertNewestFirst("8100000021"));

test("a late reply of a WhatsApp user ID hides no newer entry of the person's timeline", () =>
  assertNewestFirst("8100000022", "IN.8100000022"));

test("a page of a person's timeline reads only its replies, however many the person wrote", async () => {
  const person = { account_id: account.account_id, phone: "918100000023" };
  await makeReplies(
    Array.from({ length: 300 }, (_, i) => i),
    { phone: person.phone },
  );
  await api.app.db.pool.query("analyze chat_replies");
  const visible = { parts: new Set(["messages"] as const), kinds: new Set(["reply"] as const) };
  const read = await rowsRead(api.app, (app) =>
    readPersonTimeline(app, person, visible, { limit: 10 }),
  );
  assert.ok(read > 0 && read < 30, `read ${read} rows`);
});

/** Applies a STOP or START that the person wrote this many seconds after the test's clock. */
function writeWord(phone: string, word: "STOP" | "START", seconds: number) {
  const now = api.clock.now();
  const request = {
    account_id: account.account_id,
    person: { phone },
    channel: "chat",
    source: "reply",
    occurred_at: new Date(now.getTime() + seconds * 1_000),
  } as const;
  const stop = { scope: "all", reason: word, evidence: null, expires_at: null } as const;
  return api.app.db.query
    .transaction()
    .execute((tx) =>
      word === "START"
        ? liftSuppressions(tx, request, now)
        : suppress(tx, { ...request, ...stop, created_by: null }, now),
    );
}

const consentOf = async (phone10: string) =>
  lines((await get(`/people/timeline?phone_number=${phone10}&kinds=suppression`)).body);

test("a START without an earlier STOP adds no opt-out to a person's timeline, however often it is written", async () => {
  await writeWord("918100000011", "START", 0);
  assert.deepEqual(await consentOf("8100000011"), []);
  await writeWord("918100000011", "START", 60);
  assert.deepEqual(await consentOf("8100000011"), []);
  await writeWord("918100000011", "STOP", 120);
  assert.deepEqual(await consentOf("8100000011"), ["suppression suppressed"]);
  await writeWord("918100000011", "START", 180);
  assert.deepEqual(await consentOf("8100000011"), ["suppression lifted", "suppression suppressed"]);
});

test("a person's timeline has a STOP that a user removed, also if the provider's clock is ahead", async () => {
  for (const [phone10, seconds] of [
    ["8100000012", 0],
    ["8100000013", 30],
  ] as const) {
    await writeWord(`91${phone10}`, "STOP", seconds);
    const { body } = await get(`/suppressions?phone_number=${phone10}`);
    const path = `/api/v1/suppressions/${body.data[0].id}`;
    assert.equal((await api.send("DELETE", path, { token: account.token })).status, 204);
    const found = await consentOf(phone10);
    assert.deepEqual(found.toSorted(), ["suppression lifted", "suppression suppressed"]);
  }
});

test("a person is found by the start of the number in any form, by name and by email", async () => {
  const person = {
    phone_number: "918211111111",
    name: "Grace Hopper",
    email: "grace@navy.example",
    leads: 2,
    found_in: ["leads", "contacts", "messages", "calls"],
  };
  await makeLead({ phone: "8211111111", name: "Grace" });
  await makeLead({ phone: "8211111111", name: "Grace Hopper", email: "grace@navy.example" });
  await makeMessage("918211111111", "delivered");
  await makeCall(api.app, account, {
    call: { to_number: "8211111111", to_phone: "918211111111" },
  });
  const queries = [
    "8211",
    "08211 1",
    "91821111",
    "+91 82111-11111",
    "0091821111",
    "hopper",
    "NAVY",
  ];
  for (const q of queries) {
    const { status, body } = await get(`/people?q=${encodeURIComponent(q)}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.data, [person], q);
  }
  assert.deepEqual((await get("/people?q=%25")).body.data, []);
});

const by_country = [
  {
    country_code: "39",
    phone: "0612345678",
    queries: ["0612", "06 1234 5678", "390612", "+39 06 12345678", "00390612"],
  },
  {
    country_code: "44",
    phone: "7911654321",
    queries: [
      "+44 (0) 7911",
      "+44 (0) 7911 654321",
      "0044 (0)7911 654321",
      "44 0 7911 65",
      "07911",
    ],
  },
];

test("a person is found by the number as the intakes of the country read it, by its start and as a whole", async () => {
  for (const { country_code, phone, queries } of by_country) {
    const of = await makeAccount(api.app);
    await setCalling(api.app, of, { country_code });
    const path = `/api/v1/crm/workspaces/${of.workspace_id}/leads/create`;
    const made = await api.send("POST", path, { token: of.token, json: { phone } });
    assert.equal(made.status, 201, made.text);
    for (const q of queries) {
      const { body } = await get(`/people?q=${encodeURIComponent(q)}`, of.token);
      assert.equal(body.data.length, 1, q);
      assert.equal(body.data[0].phone_number, country_code + phone, q);
    }
  }
});

test("the last digits of a number find it although they are like the country code and a 0", async () => {
  const of = await makeAccount(api.app);
  const path = `/api/v1/crm/workspaces/${of.workspace_id}/leads/create`;
  const others = Array.from({ length: 10 }, (_, i) => `700000000${i}`);
  for (const phone of ["8123459107", ...others]) {
    const made = await api.send("POST", path, { token: of.token, json: { phone } });
    assert.equal(made.status, 201, made.text);
  }
  const { body } = await get("/people?q=9107", of.token);
  assert.equal(body.data[0].phone_number, "918123459107");
});

test("a person of another country is found by a number with a 0 after its calling code", async () => {
  await makeMessage("4915123450001", "read");
  const { body } = await get(`/people?q=${encodeURIComponent("+49 (0) 1512 3450001")}`);
  assert.deepEqual(
    body.data.map(({ phone_number }: { phone_number: string }) => phone_number),
    ["4915123450001"],
  );
});

test("a person of another country is found as well by 00 and the start of the number with that 0", async () => {
  // In Italy, a 0 after the calling code is a digit of the number.
  const of = await makeAccount(api.app);
  await setCalling(api.app, of, { country_code: "39" });
  await makeCredits(api.app, of, { chat: 1 });
  await makeMessage("442079460958", "read", of);
  for (const q of ["+44 (0) 20 7946 0958", "0044 (0) 20 7946 0958", "+44 (0) 20 79", "0044020"]) {
    const { body } = await get(`/people?q=${encodeURIComponent(q)}`, of.token);
    assert.deepEqual(
      body.data.map(({ phone_number }: { phone_number: string }) => phone_number),
      ["442079460958"],
      q,
    );
  }
});

test("of several leads of a number a search names the one that matches, and last digits find it too", async () => {
  await makeLead({ phone: "8211112222", name: "Rear Admiral" });
  await makeLead({ phone: "8211112222", name: "Someone Else" });
  const namesFor = async (q: string) =>
    (await get(`/people?q=${q}`)).body.data.map(({ name }: never) => name);
  assert.deepEqual(await namesFor("admiral"), ["Rear Admiral"]);
  assert.deepEqual(await namesFor("2222"), ["Someone Else"]);
  assert.deepEqual(await namesFor("222"), []);
  assert.deepEqual(await namesFor("%2B2222"), []);
});

test("a contact without a lead is found by name, email and last digits, by those who see leads", async () => {
  await api.app.db.query
    .insertInto("contacts")
    .values({
      account_id: account.account_id,
      workspace_id: account.workspace_id,
      phone: "8244446789",
      phone_e164: "+918244446789",
      name: "Carla Contact",
      email: "carla@c.example",
      created_at: api.clock.now(),
      updated_at: api.clock.now(),
    })
    .execute();
  const agent = await makeAgentToken(api.app, account, ["calls.read"]);
  for (const q of ["carla", "CARLA@c", "6789"]) {
    const { body } = await get(`/people?q=${q}`);
    assert.deepEqual(
      body.data.map(({ phone_number, name, found_in }: never) => [phone_number, name, found_in]),
      [["918244446789", "Carla Contact", ["contacts"]]],
      q,
    );
    assert.deepEqual((await get(`/people?q=${q}`, agent)).body.data, [], q);
  }
});

test("a person who only replied or was only called is found by last digits, by those who see that", async () => {
  const { chat_number_id } = await makeMessage("918255550000", "read");
  for (let i = 0; i < 3; i++) await makeReply("498912345678", chat_number_id);
  await makeCall(api.app, account, { call: { to_number: "8255557890", to_phone: "918255557890" } });
  const found = async (q: string, token?: string) =>
    (await get(`/people?q=${q}`, token)).body.data.map(({ phone_number, found_in }: never) => [
      phone_number,
      found_in,
    ]);
  const [chat, calls] = await Promise.all(
    (["chat.read", "calls.read"] as const).map((one) => makeAgentToken(api.app, account, [one])),
  );
  assert.deepEqual(await found("5678", chat), [["498912345678", ["replies"]]]);
  assert.deepEqual(await found("5678", calls), []);
  assert.deepEqual(await found("7890", calls), [["918255557890", ["calls"]]]);
  assert.deepEqual(await found("7890", chat), []);
});

test("a person who is only in messages, calls, suppressions or groups is found by number", async () => {
  await makeMessage("447911123456", "read");
  await makeSuppression(api.app, account, "447911123456");
  const { body } = await get("/people?q=%2B4479");
  assert.deepEqual(
    body.data.map(({ phone_number, found_in }: never) => [phone_number, found_in]),
    [["447911123456", ["messages", "suppressions"]]],
  );
});

test("a person whose messages all failed is found by the whole number", async () => {
  await makeMessage("447911123457", "undelivered");
  const { body } = await get("/people?q=%2B447911123457");
  assert.deepEqual(
    body.data.map(({ phone_number, found_in }: never) => [phone_number, found_in]),
    [["447911123457", ["messages"]]],
  );
});

test("a search answers with at most ten people, each once", async () => {
  for (let i = 0; i < 15; i++) {
    const phone = `83000000${String(i).padStart(2, "0")}`;
    await makeLead({ phone });
    if (i < 3)
      await makeCall(api.app, account, { call: { to_number: phone, to_phone: `91${phone}` } });
  }
  const { body } = await get("/people?q=83000000");
  const numbers = body.data.map(({ phone_number }: { phone_number: string }) => phone_number);
  assert.equal(numbers.length, 10);
  assert.equal(new Set(numbers).size, 10);
});

const whatsapp_spellings = [
  { country_code: "54", national: "1123456789", replied: "5491123456789" },
  { country_code: "55", national: "1187654321", replied: "5511987654321" },
];

async function assertNamed({
  country_code,
  national,
  replied,
}: (typeof whatsapp_spellings)[number]) {
  const home = account;
  account = await makeAccount(api.app);
  try {
    await setCalling(api.app, account, { country_code });
    await makeLead({ phone: national, name: "Evita" });
    const { id } = await makeChatNumber(api.app, account);
    await makeReply(replied, id);
    const replies = await get("/chat/replies");
    assert.deepEqual(
      replies.body.data.map(({ phone_number, contact_name }: never) => [
        phone_number,
        contact_name,
      ]),
      [[replied, "Evita"]],
    );
    for (const q of ["Evita", national, `%2B${replied}`]) {
      const { body } = await get(`/people?q=${q}`);
      assert.deepEqual(
        body.data.map(({ name, leads, found_in }: never) => ({ name, leads, found_in })),
        [{ name: "Evita", leads: 1, found_in: ["leads", "contacts", "replies"] }],
      );
    }
  } finally {
    account = home;
  }
}

for (const person of whatsapp_spellings)
  test(`a reply in WhatsApp's spelling of a number of country ${person.country_code} has the name and leads of the CRM's spelling`, () =>
    assertNamed(person));
