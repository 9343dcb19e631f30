// Posts webhooks as Meta sends them, in the order that each test names, and checks their effect on the next campaign,
// the replies and the numbers. The bodies follow Meta's published examples
// (docs/decisions/2026-11-22-inbound-webhooks.md).
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { endExpiredRestriction } from "../../server/chat/inbound/end-restriction.ts";
import { applyWebhooks } from "../../server/chat/inbound/apply-webhooks.ts";
import {
  listUnreadWebhooks,
  reprocessWebhooks,
} from "../../server/chat/inbound/unread-webhooks.ts";
import { openSenders } from "../../server/chat/sender/open-senders.ts";
import type { ChatDriver, Outgoing } from "../../server/drivers/chat/driver.ts";
import { readWebhook } from "../../server/drivers/chat/meta/read-webhook.ts";
import { runLoop } from "../../server/engine/run-loop.ts";
import { workJobs } from "../../server/engine/work-jobs.ts";
import { default_settings } from "../../server/worker.ts";
import { makeAccount, makeCredits, unique, type TestAccount } from "../support/account-factory.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { makeChatNumber, makeChatTemplate, type TestChatNumber } from "../support/chat-factory.ts";
import { openTestWhatsapp, signatureOf } from "../support/chat-webhooks.ts";
import { eventually } from "../support/eventually.ts";

/** The IDs in the bodies. */
const phone_number_id = "106540352242922";
const business_account_id = "102290129340398";

let api: TestApi;
let account: TestAccount;
let number: TestChatNumber;
let template_id: number;
const sent: Outgoing[] = [];
/** Meta's driver, whose messages go nowhere. */
const whatsapp = {
  ...openTestWhatsapp(),
  send: async (_from, outgoing) => {
    sent.push(outgoing);
    return { provider_message_id: `wamid.${outgoing.message_id}` };
  },
} satisfies ChatDriver;

before(async () => {
  api = await startApi({ chatDrivers: { whatsapp } });
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 10_000 });
  number = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const of = { account_id: account.account_id };
  const { pool } = api.app.db;
  await pool.query(
    "update chat_numbers set provider_phone_number_id = $2, business_account_id = $3 where account_id = $1",
    [of.account_id, phone_number_id, business_account_id],
  );
  await pool.query(
    `update chat_routes set provider_id = case kind when 'phone_number' then $2 else $3 end where account_id = $1`,
    [of.account_id, phone_number_id, business_account_id],
  );
  number = { ...number, provider_phone_number_id: phone_number_id, business_account_id };
  template_id = await makeChatTemplate(api.app, account, number, {
    driver: "whatsapp",
    category: "MARKETING",
  });
});
after(() => api.close());

const read = (name: string) => readFile(new URL(`${name}.json`, import.meta.url), "utf8");
const apply = () => applyWebhooks(api.app, new AbortController().signal);

/** Posts the webhooks one by one, each applied before the next. */
async function receive(...names: string[]): Promise<void> {
  for (const name of names) {
    const raw = await read(name);
    const { status } = await api.send("POST", "/hooks/whatsapp", {
      raw,
      headers: { "content-type": "application/json", "x-hub-signature-256": signatureOf(raw) },
    });
    assert.equal(status, 200, name);
    await apply();
  }
}

/** Returns which of the addresses the account's next campaign sends to. */
async function reached(...addresses: string[]): Promise<string[]> {
  const created = await api.send("POST", "/api/v1/chat/campaigns", {
    token: account.token,
    headers: { "idempotency-key": unique("key") },
    json: {
      name: "Next",
      chat_number_id: number.id,
      template_id,
      contacts: [...addresses, control].map((phone_number) => ({ phone_number })),
    },
  });
  assert.equal(created.status, 201, created.text);
  sent.length = 0;
  const senders = openSenders(api.app, default_settings);
  const loop = runLoop(api.app, {
    name: "senders",
    channel: "chat_work",
    poll_ms: 100,
    iterate: () => senders.startDue(),
  });
  await eventually(() => sent.some(({ to }) => to === control));
  await loop.stop();
  await senders.stop();
  return sent.map(({ to }) => to).filter((to) => to !== control);
}

/** Every campaign ends with this recipient: when it is sent, the others are too, or never. */
const control = "919899999999";

const list = async (query: string) =>
  (await api.send("GET", `/api/v1/chat/${query}`, { token: account.token })).body.data;

async function eventsOf(type: string, key: string, value: string) {
  const { rows } = await api.app.db.pool.query<{ data: Record<string, unknown> }>(
    "select data from events where account_id = $1 and type = $2 and data ->> $3 = $4 order by id",
    [account.account_id, type, key, value],
  );
  return rows.map(({ data }) => data);
}

const holds = async () => (await list("holds?scope=number")) as { reason: string }[];

test("a STOP with a BSUID alone suppresses the person, and the phone once a status names both", async () => {
  const bsuid = "US.13491208655302741918";
  await receive("bsuid-only-stop");
  assert.deepEqual(await reached(bsuid, "16505551234"), ["16505551234"]);
  const [optout] = await eventsOf("chat.optout", "bsuid", bsuid);
  assert.deepEqual([optout?.["phone_number"], optout?.["source"]], [null, "reply"]);
  await receive("bsuid-status-names-phone");
  assert.deepEqual(await reached(bsuid, "16505551234", "+1 650 555 1234"), []);
  const [reply] = await list("replies?phone_number=16505551234");
  assert.deepEqual(
    [reply.phone_number, reply.bsuid, reply.text, reply.opted_out],
    ["16505551234", bsuid, "STOP", true],
  );
});

test("a STOP with a BSUID alone suppresses the phone that an earlier message named", async () => {
  await receive("known-bsuid-hello", "known-bsuid-stop");
  assert.deepEqual(await reached("919800000101", "IN.20819787093429"), []);
});

test("a STOP whose number is only in `contacts` suppresses the number in each of its spellings", async () => {
  await receive("contact-lacks-from");
  assert.deepEqual(await reached("551187654321", "5511987654321", "BR.1502576394655843"), []);
});

test("a STOP from a Brazilian number without its ninth digit suppresses the number that was written to", async () => {
  await receive("brazil-without-ninth-digit");
  assert.deepEqual(await reached("5551987654321"), []);
});

test("a number that the customer shares is suppressed by the STOP that came before", async () => {
  await receive("bsuid-stop-before-shared-number", "shared-number");
  assert.deepEqual(await reached("16505550404", "US.4444"), []);
});

test("a customer who opted out stays opted out under a new BSUID or number", async () => {
  await receive("moved-stop", "moved-new-bsuid", "moved-old-stop", "moved-new-number");
  assert.deepEqual(await reached("US.5002", "16505550505", "16505550607", "US.6002"), []);
});

test("a customer who opted out stays opted out after a system message that names the previous BSUID", async () => {
  await receive("system-moves-stops", "system-moves");
  assert.deepEqual(await reached("US.5102", "16505550522", "US.5202"), []);
  assert.deepEqual(await listUnreadWebhooks(api.app.db.pool), []);
});

test("a STOP, or a stop in WhatsApp, also suppresses the parent BSUID that it names or whose message it answers, until START", async () => {
  const parents = [1, 2, 3, 4].map((i) => `US.ENT.700${i}`);
  assert.deepEqual(await reached(...parents), parents);
  const answered = sent.find(({ to }) => to === parents[1])!;
  const stops = (await read("parent-stops")).replace("wamid.ours", `wamid.${answered.message_id}`);
  const starts = stops.replaceAll("STOP", "START").replaceAll("17953488", "17953489");
  const take = async (body: string) => {
    await api.app.webhookReceiver.take("whatsapp", body);
    await apply();
  };
  await take(stops);
  await receive("parent-moved", "parent-preference");
  const known = ["US.7001", "US.7002", "US.7003", "US.7004", "16505550703", ...parents];
  assert.deepEqual(await reached(...known, "US.7011", "US.ENT.7011"), []);
  const optouts = await eventsOf("chat.optout", "bsuid", "US.7004");
  assert.equal(optouts.length, 1, "one event for both IDs");
  await take(starts.replaceAll("wamid.parent", "wamid.start"));
  assert.deepEqual(await reached(...parents), parents.slice(0, 3));
});

test("a customer's stop of marketing in WhatsApp with a BSUID alone suppresses the person", async () => {
  await receive("preference-stop-bsuid");
  assert.deepEqual(await reached("IN.777"), []);
});

test("a stop that is older than the resume has no effect", async () => {
  await receive("preference-resume", "preference-older-stop");
  assert.deepEqual(await reached("919800000202"), ["919800000202"]);
});

test("START lifts what a reply stopped, but not a STOP that is delivered again afterwards", async () => {
  await receive("stop-typed");
  assert.deepEqual(await reached("919800000303"), []);
  await receive("start-typed", "stop-typed", "start-typed");
  assert.deepEqual(await reached("919800000303"), ["919800000303"]);
  const optins = await eventsOf("chat.optin", "phone_number", "919800000303");
  assert.deepEqual(
    optins.map(({ source }) => source),
    ["reply"],
  );
});

test("START does not lift a manual suppression", async () => {
  const json = { phone_number: "919800000303", channel: "chat", reason: "asked on the phone" };
  const added = await api.send("POST", "/api/v1/suppressions", { token: account.token, json });
  assert.ok(added.status < 300, added.text);
  const again = (await read("start-typed")).replace("wamid.st2", "wamid.st3");
  await api.app.webhookReceiver.take("whatsapp", again);
  await apply();
  assert.deepEqual(await reached("919800000303"), []);
});

test("a template's button opts out only if its payload is a stop word", async () => {
  await receive("button-cancel", "button-marked");
  assert.deepEqual(await reached("919800000401", "919800000402"), ["919800000401"]);
});

test("a reply keeps its media, location, contacts, order, reaction and choice, and is an event", async () => {
  const kinds = [
    "image",
    "location",
    "contacts",
    "order",
    "reaction",
    "interactive",
    "unsupported",
  ];
  await receive(...kinds.map((kind) => `kind-${kind}`));
  const replies = (await list("replies?phone_number=919800000501")) as Record<string, unknown>[];
  for (const kind of kinds) {
    const reply = replies.find(({ type }) => type === kind)!;
    const body = JSON.parse(await read(`kind-${kind}`));
    assert.deepEqual(reply["content"], body.entry[0].changes[0].value.messages[0][kind], kind);
    const [event] = await eventsOf("chat.reply.received", "reply_id", String(reply["id"]));
    assert.deepEqual(event?.["content"], reply["content"], kind);
  }
  const choice = replies.find(({ type }) => type === "interactive")!;
  assert.deepEqual(
    [choice["text"], choice["payload"]],
    ["Priority Mail Express", "priority_express"],
  );
});

test("a webhook of unknown shape is kept, counted and read again by a version that knows it", async () => {
  const unknown = ["no-sender", "field", "value", "status"].map((name) => `unknown-${name}`);
  const countOf = async () => {
    const { values } = await api.app.metrics.chatWebhooks.get();
    return values.find(({ labels }) => labels.outcome === "unread")?.value ?? 0;
  };
  const before_count = await countOf();
  await receive(...unknown);
  assert.equal((await countOf()) - before_count, unknown.length);
  const kept = async () =>
    (await listUnreadWebhooks(api.app.db.pool)).reduce((sum, { count }) => sum + count, 0);
  assert.equal(await kept(), unknown.length);
  // A later version knows who sent it.
  const reader = whatsapp.readWebhook;
  whatsapp.readWebhook = (body) => {
    const text = JSON.stringify(body);
    return readWebhook(
      JSON.parse(
        text.replace('"id":"wamid.nosender"', '"id":"wamid.nosender","from":"919800000602"'),
      ),
    );
  };
  await api.app.db.query
    .transaction()
    .execute((tx) => reprocessWebhooks(tx, account.account_id, api.clock.now()));
  await apply();
  whatsapp.readWebhook = reader;
  assert.equal(await kept(), unknown.length - 1);
  assert.deepEqual(await reached("919800000602"), []);
});

test("a webhook with errors of the number itself has no events and is not kept as unread", async () => {
  const { pool } = api.app.db;
  const counts = async () => {
    const { rows } = await pool.query<{ events: number; unread: number }>(
      "select (select count(*)::int from events) as events, (select count(*)::int from chat_unread_webhooks) as unread",
    );
    return rows[0];
  };
  const before_it = await counts();
  await receive("number-errors");
  assert.deepEqual(await counts(), before_it);
});

test("a template event with an ID beyond 2^53, or a new ID, finds its template; an older one has no effect", async () => {
  const id = await makeChatTemplate(api.app, account, number, {
    driver: "whatsapp",
    provider_template_id: "92233720368547758",
  });
  await api.app.db.pool.query(
    "update chat_templates set name = 'order_confirmation', language = 'en_US' where account_id = $1 and id = $2",
    [account.account_id, id],
  );
  const status = () => statusOf(id);
  await receive("template-paused");
  assert.equal(await status(), "PAUSED");
  await receive("template-older-approved");
  assert.equal(await status(), "PAUSED");
  await receive("template-approved", "template-paused");
  assert.equal(await status(), "APPROVED");
  await receive("template-other-id-paused");
  assert.equal(await status(), "PAUSED");
});

async function statusOf(id: number): Promise<string> {
  const { status } = await api.app.db.query
    .selectFrom("chat_templates")
    .select("status")
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return status;
}

/** Answers a customer who has just written; returns the response's status. */
async function answerCustomer(): Promise<number> {
  const { id } = await api.app.db.query
    .insertInto("chat_replies")
    .values({
      account_id: account.account_id,
      chat_number_id: number.id,
      provider_message_id: unique("wamid"),
      phone: "919800000701",
      type: "text",
      text: "Where is it?",
      opted_out: false,
      received_at: api.clock.now(),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const { token } = account;
  const json = { text: "On its way" };
  const answer = await api.send("POST", `/api/v1/chat/replies/${id}/answers`, { token, json });
  return answer.status;
}

test("a restriction holds the number if it concerns messages, until it expires or is lifted, and allows answers unless it concerns them", async () => {
  await receive("account-no-new-numbers", "account-to-be-disabled");
  assert.deepEqual(await holds(), []);
  api.clock.set(new Date(1_795_349_000_000));
  await receive("account-restricted");
  assert.deepEqual(
    (await holds()).map(({ reason }) => reason),
    ["sender_restricted"],
  );
  const endDue = () =>
    workJobs(
      api.app,
      { "chat.end_restriction": endExpiredRestriction },
      new AbortController().signal,
    );
  await endDue();
  assert.equal((await holds()).length, 1);
  assert.equal(await answerCustomer(), 200, "business-initiated messages are restricted");
  await receive("account-answers-restricted");
  assert.equal(await answerCustomer(), 409, "answers are restricted, too");
  api.clock.set(new Date(1_795_348_800_000 + 86_400_000));
  await endDue();
  assert.deepEqual(await holds(), []);
});

test("a ban allows no answers, and an older one does not hold a number that was reinstated since", async () => {
  await receive("account-disabled");
  assert.equal((await holds()).length, 1);
  assert.equal(await answerCustomer(), 409);
  await receive("account-reinstated", "account-disabled");
  assert.deepEqual(await holds(), []);
});
