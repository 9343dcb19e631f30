// The response and stored rows of a created campaign (contract 1.2, 2.2, 3 and 4.2).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findCredits } from "../../server/credits/credits.ts";
import { checkLedger } from "../support/check-invariants.ts";
import { makeSuppression } from "../support/chat-factory.ts";
import { makeAccount } from "../support/account-factory.ts";
import { startChatApi, uniquePhone, type ChatApi } from "./chat-api.ts";
import { assertProblem } from "./lead-api.ts";

let chat: ChatApi;

before(async () => {
  chat = await startChatApi();
});
after(async () => {
  await checkLedger(chat.api.app.db.pool);
  await chat.api.close();
});

test("a campaign that sends now answers 201 with exactly the nine fields, running", async () => {
  const contacts = [{ phone_number: uniquePhone() }, { phone_number: uniquePhone() }];
  const answer = await chat.create(chat.body({ contacts }));
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
  assert.deepEqual(Object.keys(answer.body), [
    "id",
    "name",
    "status",
    "total_contacts",
    "sent_count",
    "failed_count",
    "pending_count",
    "scheduled_at",
    "created_at",
  ]);
  assert.ok(Number.isSafeInteger(answer.body.id) && answer.body.id > 0);
  const { id: _id, created_at, ...rest } = answer.body;
  assert.deepEqual(rest, {
    name: "Spring sale",
    status: "running",
    total_contacts: 2,
    sent_count: 0,
    failed_count: 0,
    pending_count: 2,
    scheduled_at: null,
  });
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Math.abs(Date.parse(created_at) - chat.api.clock.now().getTime()) < 60_000);
});

test("a campaign is submitted at once: its recipients are queued, and the sender is notified", async () => {
  const notified: string[] = [];
  chat.api.app.notifications.on("chat_work", (subject) => notified.push(subject));
  const contacts = [
    { phone_number: "919811100001", variables: { "1": "Ada", city: 'Lon"don\\\t\n🎈' } },
    { phone_number: "+91 98111-00002", variables: {} },
    { phone_number: "919811100003", variables: null },
    { phone_number: "919811100004" },
  ];
  const { body } = await chat.create(chat.body({ contacts }));
  assert.deepEqual(await chat.recipients(body.id), [
    { phone: "919811100001", variables: contacts[0]!.variables, state: "queued" },
    { phone: "919811100002", variables: null, state: "queued" },
    { phone: "919811100003", variables: null, state: "queued" },
    { phone: "919811100004", variables: null, state: "queued" },
  ]);
  const { account_id } = chat.account;
  assert.ok(notified.includes(`${account_id}:${chat.number.id}`));
  const { app } = chat.api;
  const campaign = await app.db.query
    .selectFrom("chat_campaigns")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("id", "=", body.id)
    .executeTakeFirstOrThrow();
  assert.equal(campaign.state, "running");
  assert.equal(campaign.created_by, chat.account.owner_id);
  assert.equal(campaign.template_id, chat.template_id);
  assert.equal(campaign.work_at.toISOString(), body.created_at);
  assert.equal(campaign.started_at?.toISOString(), body.created_at);
  const counts = await app.db.query
    .selectFrom("chat_counts")
    .select(["slot", "queued"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", body.id)
    .execute();
  assert.deepEqual(counts, [{ slot: "controls", queued: 4 }]);
});

test("a campaign's events and audit entry are recorded exactly when the campaign is created", async () => {
  const { body } = await chat.create(chat.body());
  const { account_id } = chat.account;
  const { db } = chat.api.app;
  const events = await db.query
    .selectFrom("events")
    .select("data")
    .where("account_id", "=", account_id)
    .where("type", "=", "chat.campaign.created")
    .execute();
  const mine = events.map(({ data }) => data as { campaign_id: number; total: number });
  assert.equal(mine.filter(({ campaign_id }) => campaign_id === body.id).length, 1);
  assert.equal(mine.length, await chat.campaignCount());
  const { rows } = await db.pool.query(
    "select user_id, detail from audit_entries where account_id = $1 and action = 'chat_campaign.created' and subject_id = $2",
    [account_id, String(body.id)],
  );
  assert.deepEqual(rows, [{ user_id: chat.account.owner_id, detail: { total: 1 } }]);
});

test("credit is reserved up front, one for each recipient that remains", async () => {
  const { db } = chat.api.app;
  const { account_id } = chat.account;
  const had = (await findCredits(db.query, account_id)).chat;
  const suppressed = uniquePhone();
  await makeSuppression(chat.api.app, chat.account, suppressed);
  const phone_number = uniquePhone();
  const contacts = ["12", phone_number, phone_number, suppressed, uniquePhone()].map((phone) => ({
    phone_number: phone,
  }));
  const { body } = await chat.create(chat.body({ contacts }));
  assert.equal(body.total_contacts, 2);
  const { rows } = await db.pool.query(
    `select t.type, t.amount from credit_reservations r
     join credit_transfers t on t.account_id = r.account_id and t.reservation_id = r.id
     where r.account_id = $1 and r.subject = $2`,
    [account_id, `chat_campaign:${body.id}`],
  );
  assert.deepEqual(rows, [{ type: "reserve", amount: 2 }]);
  assert.deepEqual((await findCredits(db.query, account_id)).chat, {
    available: had.available - 2,
    reserved: had.reserved + 2,
  });
});

test("invalid, duplicate and blacklisted numbers are removed and counted, and nothing else is", async () => {
  const { app } = chat.api;
  const mark = (n: number) => `91981220000${n}`;
  await makeSuppression(app, chat.account, mark(1), { channel: "chat" });
  await makeSuppression(app, chat.account, mark(2), { channel: "all" });
  await makeSuppression(app, chat.account, mark(3), { channel: "voice" });
  const now = app.clock.now().getTime();
  await makeSuppression(app, chat.account, mark(4), { expires_at: new Date(now - 1_000) });
  await makeSuppression(app, chat.account, mark(5), { expires_at: new Date(now + 60_000) });
  await makeSuppression(app, chat.account, mark(1), { channel: "all" });
  const numbers = [
    ...[1, 2, 3, 4, 5, 6].map(mark),
    // The same number in other spellings: the first one stays.
    "+91 98122 00006",
    "(91) 98122-00006",
    "91.98122.00006",
    // None of these is a number.
    "",
    " ",
    "abc",
    "12",
    "0",
    "9876543210",
    "00919812200007",
    "x".repeat(10_000),
    "999999999999999999999",
  ];
  const contacts = numbers.map((phone_number) => ({ phone_number, variables: { "1": "x" } }));
  const { status, body, text } = await chat.create(chat.body({ contacts }));
  assert.equal(status, 201, text);
  const kept = await chat.recipients(body.id);
  assert.deepEqual(
    kept.map(({ phone }) => phone),
    [mark(3), mark(4), mark(6)],
  );
  const { trimmed } = await app.db.query
    .selectFrom("chat_campaigns")
    .select("trimmed")
    .where("account_id", "=", chat.account.account_id)
    .where("id", "=", body.id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(trimmed, { invalid: 9, duplicate: 3, blacklisted: 3 });
});

test("a suppression of another account removes no recipient", async () => {
  const other = await makeAccount(chat.api.app);
  const phone_number = uniquePhone();
  await makeSuppression(chat.api.app, other, phone_number);
  const { body } = await chat.create(chat.body({ contacts: [{ phone_number }] }));
  assert.equal(body.total_contacts, 1);
});

test("an account may ask for valid numbers only, and the possible ones are invalid then", async () => {
  const own = await startChatApi();
  // Possible by its length, in an unassigned range.
  const contacts = [{ phone_number: "911111111111" }, { phone_number: "919812345678" }];
  assert.equal((await own.create(own.body({ contacts }))).body.total_contacts, 2);
  const patch = { token: own.account.token, json: { chat: { valid_numbers_only: true } } };
  assert.equal((await own.api.send("PATCH", "/api/v1/account", patch)).status, 200);
  assert.equal((await own.create(own.body({ contacts }))).body.total_contacts, 1);
  await own.api.close();
});

test("when no valid contacts remain the request fails with 400 and creates nothing", async () => {
  const suppressed = uniquePhone();
  await makeSuppression(chat.api.app, chat.account, suppressed);
  const found = await footprint();
  for (const phones of [["12"], ["", "abc"], [suppressed], [suppressed, "12", suppressed]]) {
    const contacts = phones.map((phone_number) => ({ phone_number }));
    const answer = await chat.create(chat.body({ contacts }));
    assertProblem(answer, 400, "bad-request");
  }
  for (const contacts of [undefined, null, []])
    assertProblem(await chat.create(chat.body({ contacts })), 400, "bad-request");
  assert.deepEqual(await footprint(), found);
});

test("not enough credit is 409, creates nothing, and the last credit can be spent", async () => {
  const own = await startChatApi({ credit: 3 });
  const contacts = (count: number) =>
    Array.from({ length: count }, () => ({ phone_number: uniquePhone() }));
  assertProblem(await own.create(own.body({ contacts: contacts(4) })), 409, "insufficient-credit");
  assert.equal(await own.campaignCount(), 0);
  assert.deepEqual((await findCredits(own.api.app.db.query, own.account.account_id)).chat, {
    available: 3,
    reserved: 0,
  });
  // Four were sent, but one of them is not paid for.
  const four = contacts(4);
  await makeSuppression(own.api.app, own.account, four[0]!.phone_number);
  assert.equal((await own.create(own.body({ contacts: four }))).status, 201);
  assertProblem(await own.create(own.body()), 409, "insufficient-credit");
  await checkLedger(own.api.app.db.pool);
  await own.api.close();
});

test("of many campaigns at once on credit for some, exactly those are created", async () => {
  const own = await startChatApi({ credit: 12 });
  const pair = () => [{ phone_number: uniquePhone() }, { phone_number: uniquePhone() }];
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => own.create(own.body({ contacts: pair() }))),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 6);
  for (const answer of answers)
    if (answer.status !== 201) assertProblem(answer, 409, "insufficient-credit");
  assert.equal(await own.campaignCount(), 6);
  await checkLedger(own.api.app.db.pool);
  await own.api.close();
});

/** Returns the state that a refused request must not change. */
async function footprint() {
  const { rows } = await chat.api.app.db.pool.query(
    `select (select count(*) from chat_campaigns) as campaigns, (select count(*) from chat_recipients) as recipients,
       (select count(*) from chat_counts) as counts, (select count(*) from credit_transfers) as transfers,
       (select count(*) from events) as events, (select count(*) from jobs) as jobs,
       (select count(*) from idempotency_keys) as keys`,
  );
  return rows;
}
