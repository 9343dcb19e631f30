// Opt-outs from the webhook to the recipients of the next campaign.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
  type TestChatNumber,
} from "../../../test/support/chat-factory.ts";
import {
  changeHook,
  messageHook,
  openTestWhatsapp,
  preferenceHook,
  statusHook,
} from "../../../test/support/chat-webhooks.ts";
import { eventually } from "../../../test/support/eventually.ts";
import type { Outgoing } from "../../drivers/chat/driver.ts";
import { default_settings } from "../../worker.ts";
import { makeMessageId } from "../messages/message-id.ts";
import { openSenders } from "../sender/open-senders.ts";
import { applyWebhooks } from "./apply-webhooks.ts";

type Category = "MARKETING" | "UTILITY";

let api: TestApi;
/** The numbers under which the provider knows phones, where they differ. */
const waIds = new Map<string, string>();
let account: TestAccount;
let number: TestChatNumber;
let templates: Record<Category, number>;
/** A contact that nothing suppresses, so that every campaign can be created. */
const other = "919800000001";

before(async () => {
  const send = async (_: unknown, { message_id, to }: Outgoing) => ({
    provider_message_id: `wamid.${message_id}`,
    wa_id: waIds.get(to) ?? to,
  });
  api = await startApi({ chatDrivers: { whatsapp: { ...openTestWhatsapp(), send } } });
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 100_000 });
  const driver = "whatsapp";
  number = await makeChatNumber(api.app, account, { driver });
  const template = (category: Category) =>
    makeChatTemplate(api.app, account, number, { driver, category });
  templates = { MARKETING: await template("MARKETING"), UTILITY: await template("UTILITY") };
});
after(() => api.close());

async function receive(...webhooks: string[]): Promise<void> {
  for (const body of webhooks) await api.app.webhookReceiver.take("whatsapp", body);
  await applyWebhooks(api.app, new AbortController().signal);
}

const send = (method: string, path: string, json?: unknown) =>
  api.send(method, `/api/v1${path}`, {
    token: account.token,
    json,
    headers: method === "GET" ? {} : { "idempotency-key": unique("key") },
  });

/** Creates a campaign for the phones and returns its ID. */
async function campaignFor(phones: readonly string[], category: Category): Promise<number> {
  const contacts = phones.map((phone_number) => ({ phone_number }));
  const named = { name: unique("campaign"), template_id: templates[category] };
  const json = { ...named, chat_number_id: number.id, contacts };
  const { status, body, text } = await send("POST", "/chat/campaigns", json);
  assert.equal(status, 201, text);
  return body.id;
}

const recipientsOf = (campaign_id: number) =>
  api.app.db.query
    .selectFrom("chat_recipients")
    .select(["id", "phone"])
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("id")
    .execute();

/** Returns whether the next campaign of the category keeps the phone. */
async function isReached(phone: string, category: Category = "UTILITY"): Promise<boolean> {
  const recipients = await recipientsOf(await campaignFor([phone, other], category));
  return recipients.some((one) => one.phone === phone);
}

/** Sends the recipient's message, and receives its delivery. */
async function deliver(campaign_id: number, id: number): Promise<void> {
  const { account_id } = account;
  for (const [dispatches, state] of ["dispatching", "accepted"].entries())
    await api.app.db.pool.query("select from chat_move_recipients_json($1, 'sender', $2, $3)", [
      account_id,
      JSON.stringify([{ campaign_id, id, dispatches, state, due_at: null }]),
      api.clock.now(),
    ]);
  const message_id = makeMessageId({ account_id, campaign_id, recipient_id: id, dispatches: 1 });
  await receive(statusHook(number, [{ id: unique("wamid"), message_id, status: "delivered" }]));
}

const stopFrom = (from: string, at = api.clock.now()) =>
  messageHook(number, [{ id: unique("in"), from, text: "STOP", at }]);

const minutes = (count: number) => new Date(api.clock.now().getTime() + count * 60_000);

let serial = 10_000_000;
const newDigits = () => String(++serial);

test("a stop from another spelling of a number is attributed to it and removes it from the next campaign", async () => {
  const [a, b, c, d] = Array.from({ length: 4 }, newDigits);
  const spellings = [
    [`55519${a!.replace("1", "8")}`, `5551${a!.replace("1", "8")}`],
    [`5255${b}`, `52155${b}`],
    [`54911${c}`, `5411${c}`],
    [`5411${d}`, `54911${d}`],
  ] as const;
  for (const [given, from] of spellings) {
    const campaign_id = await campaignFor([given], "UTILITY");
    const [recipient] = await recipientsOf(campaign_id);
    assert.equal(recipient!.phone, given, "the number is sent to as given");
    await deliver(campaign_id, recipient!.id);
    await receive(stopFrom(from));
    const [reply] = await api.app.db.query
      .selectFrom("chat_replies")
      .select(["campaign_id", "recipient_id"])
      .where("account_id", "=", account.account_id)
      .where("phone", "=", from)
      .execute();
    assert.deepEqual(reply, { campaign_id, recipient_id: recipient!.id }, given);
    for (const category of ["UTILITY", "MARKETING"] as const)
      assert.equal(await isReached(given, category), false, `${given} ${category}`);
  }
});

test("a new country of the account lifts no suppression, by reply or by hand", async () => {
  const [replied, listed] = [`9198${newDigits()}`, `98${newDigits()}`];
  await receive(stopFrom(replied));
  const added = await send("POST", "/suppressions", { phone_number: listed });
  assert.equal(added.status, 201, added.text);
  const move = async (country_code: string) =>
    assert.equal((await send("PATCH", "/account", { country_code })).status, 200);
  await move("1");
  assert.deepEqual([await isReached(replied), await isReached(`91${listed}`)], [false, false]);
  await move("91");
  assert.equal(await isReached(`91${listed}`), false);
});

test("a stop at the provider ends marketing and nothing else, until the customer resumes it", async () => {
  const from = `9198${newDigits()}`;
  await receive(preferenceHook(number, { from, value: "stop", at: minutes(-10) }));
  assert.deepEqual([await isReached(from), await isReached(from, "MARKETING")], [true, false]);
  await receive(preferenceHook(number, { from, value: "resume", at: minutes(-5) }));
  assert.equal(await isReached(from, "MARKETING"), true);
});

test("a resume at the provider lifts neither a stop by reply nor a manual suppression", async () => {
  const [replied, manual] = [`9198${newDigits()}`, `9198${newDigits()}`];
  await makeSuppression(api.app, account, manual);
  await receive(stopFrom(replied, minutes(-10)));
  for (const from of [replied, manual]) {
    await receive(
      preferenceHook(number, { from, value: "stop", at: minutes(-8) }),
      preferenceHook(number, { from, value: "resume", at: minutes(-5) }),
    );
    assert.equal(await isReached(from), false, from);
  }
});

test("a stop that is older than the resume has no effect, in whatever order they arrive", async () => {
  const from = `9198${newDigits()}`;
  const stop = preferenceHook(number, { from, value: "stop", at: minutes(-10) });
  const resume = preferenceHook(number, { from, value: "resume", at: minutes(-5) });
  await receive(resume, stop);
  assert.equal(await isReached(from, "MARKETING"), true);
  await receive(stop);
  assert.equal(await isReached(from, "MARKETING"), true, "redelivered");
  await receive(preferenceHook(number, { from, value: "stop", at: minutes(-2) }), resume);
  assert.equal(await isReached(from, "MARKETING"), false, "a newer stop, and the resume again");
});

test("within the same second the stop wins, in whatever order it and the resume arrive", async () => {
  for (const order of ["stop last", "resume last"]) {
    const from = `9198${newDigits()}`;
    const stop = preferenceHook(number, { from, value: "stop", at: minutes(-5) });
    const resume = preferenceHook(number, { from, value: "resume", at: minutes(-5) });
    await receive(order === "stop last" ? resume : stop);
    await receive(order === "stop last" ? stop : resume);
    assert.equal(await isReached(from, "MARKETING"), false, order);
  }
});

test("ending one suppression keeps those of other sources in force", async () => {
  const from = `9198${newDigits()}`;
  const added = await send("POST", "/suppressions", { phone_number: `+${from}`, channel: "chat" });
  await receive(stopFrom(from));
  const list = await send("GET", `/suppressions?phone_number=%2B${from}`);
  const rows = list.body.data as {
    id: number;
    source: string;
    evidence: { text: string } | null;
  }[];
  assert.deepEqual(
    rows.map(({ source, evidence }) => [source, evidence?.text ?? null]),
    [
      ["reply", "STOP"],
      ["manual", null],
    ],
  );
  assert.equal((await send("DELETE", `/suppressions/${added.body.id}`)).status, 204);
  assert.equal(await isReached(from), false);
  assert.equal((await send("DELETE", `/suppressions/${rows[0]!.id}`)).status, 204);
  assert.equal(await isReached(from), true);
  assert.equal((await send("DELETE", `/suppressions/${rows[0]!.id}`)).status, 404);
});

test("the words of a stop, and the ID of its message, are stored under one of the sender's user IDs, by which an erasure finds them", async () => {
  const [bsuid, parent] = [unique("IN."), unique("IN.ENT.")];
  const timestamp = String(Math.floor(api.clock.now().getTime() / 1_000));
  const message = {
    id: unique("in"),
    from_user_id: bsuid,
    from_parent_user_id: parent,
    timestamp,
    type: "text",
    text: { body: "STOP" },
  };
  const metadata = { phone_number_id: number.provider_phone_number_id };
  const value = { messaging_product: "whatsapp", metadata, messages: [message] };
  await receive(changeHook(number, "messages", value));
  const rows = await api.app.db.query
    .selectFrom("suppressions")
    .select(["bsuid", "evidence"])
    .where("account_id", "=", account.account_id)
    .where("bsuid", "in", [bsuid, parent])
    .orderBy("bsuid")
    .execute();
  const kept = rows.map(({ bsuid: of, evidence }) => [
    of,
    Object.keys(evidence as object).toSorted(),
  ]);
  assert.deepEqual(Object.fromEntries(kept), {
    [bsuid]: ["chat_number_id", "message_id", "reply_id", "text"],
    [parent]: ["chat_number_id", "reply_id"],
  });
});

test("START from the number under which WhatsApp knows a phone ends what STOP from it ended, also when it answers no message", async () => {
  const [phone, wa_id] = [`9198${newDigits()}`, `4477${newDigits()}`];
  await api.app.db.query
    .insertInto("phone_aliases")
    .values([
      { account_id: account.account_id, phone_key: phone, alias_key: wa_id },
      { account_id: account.account_id, phone_key: wa_id, alias_key: phone },
    ])
    .execute();
  const campaign_id = await campaignFor([phone], "UTILITY");
  const [recipient] = await recipientsOf(campaign_id);
  await deliver(campaign_id, recipient!.id);
  await receive(stopFrom(wa_id));
  assert.deepEqual([await isReached(phone), await isReached(wa_id)], [false, false]);
  const start = { id: unique("in"), from: wa_id, text: "START", at: minutes(2 * 24 * 60) };
  await receive(messageHook(number, [start]));
  assert.deepEqual([await isReached(phone), await isReached(wa_id)], [true, true]);
});

test("a resume at the provider ends its own suppression of the customer under another number in WhatsApp, and no other", async () => {
  const reachedAfterResume = async (stop: (phone: string) => string) => {
    const [phone, wa_id] = [`9198${newDigits()}`, `4477${newDigits()}`];
    await addAlias(account, phone, wa_id);
    await receive(stop(phone));
    const reached = async () => [
      await isReached(phone, "MARKETING"),
      await isReached(wa_id, "MARKETING"),
    ];
    assert.deepEqual(await reached(), [false, false]);
    await receive(preferenceHook(number, { from: wa_id, value: "resume", at: minutes(-5) }));
    return reached();
  };
  const at = minutes(-10);
  const atProvider = (from: string) => preferenceHook(number, { from, value: "stop", at });
  assert.deepEqual(await reachedAfterResume(atProvider), [true, true]);
  assert.deepEqual(await reachedAfterResume((from) => stopFrom(from, at)), [false, false]);
});

/** Stores another number under which WhatsApp knows the phone. */
const addAlias = (of: TestAccount, phone: string, wa_id: string) =>
  api.app.db.query
    .insertInto("phone_aliases")
    .values([
      { account_id: of.account_id, phone_key: phone, alias_key: wa_id },
      { account_id: of.account_id, phone_key: wa_id, alias_key: phone },
    ])
    .execute();

test("a campaign and its preview trim a phone whose other number in WhatsApp is suppressed, however many aliases are known", async () => {
  const of = await makeAccount(api.app);
  await makeCredits(api.app, of, { chat: 100 });
  const from = await makeChatNumber(api.app, of, { driver: "whatsapp" });
  const template_id = await makeChatTemplate(api.app, of, from, { driver: "whatsapp" });
  const [phone, wa_id, third] = [`9198${newDigits()}`, `4477${newDigits()}`, `9198${newDigits()}`];
  await addAlias(of, phone, wa_id);
  await makeSuppression(api.app, of, wa_id);
  const trimmedOf = async (phones: readonly string[], path = "") => {
    const contacts = phones.map((phone_number) => ({ phone_number }));
    const json = { name: unique("campaign"), template_id, chat_number_id: from.id, contacts };
    const headers = { "idempotency-key": unique("key") };
    const url = `/api/v1/chat/campaigns${path}`;
    const { body, text } = await api.send("POST", url, { token: of.token, json, headers });
    if (path === "/preview") return body.trimmed.blacklisted;
    assert.ok(body.total_contacts > 0, text);
    const { data } = (await api.send("GET", `${url}/${body.id}/recipients`, of)).body;
    return phones.length - data.length;
  };
  const lists = [
    [phone, other, third],
    [phone, other],
    [phone, other, wa_id],
    [other, third],
  ];
  const expected = [1, 1, 2, 0];
  for (const aliases of [1, 11]) {
    for (let i = 1; i < aliases; i++)
      await addAlias(of, `9198${newDigits()}`, `4477${newDigits()}`);
    for (const [i, phones] of lists.entries()) {
      assert.equal(await trimmedOf(phones, "/preview"), expected[i], `preview ${i}, ${aliases}`);
      assert.equal(await trimmedOf(phones), expected[i], `campaign ${i}, ${aliases}`);
    }
  }
});

test("a campaign needs no credit for a phone whose other number in WhatsApp is suppressed", async () => {
  const of = await makeAccount(api.app);
  await makeCredits(api.app, of, { chat: 1 });
  const from = await makeChatNumber(api.app, of, { driver: "whatsapp" });
  const template_id = await makeChatTemplate(api.app, of, from, { driver: "whatsapp" });
  const [phone, wa_id] = [`9198${newDigits()}`, `4477${newDigits()}`];
  await addAlias(of, phone, wa_id);
  await makeSuppression(api.app, of, wa_id);
  const contacts = [phone, wa_id, other].map((phone_number) => ({ phone_number }));
  const json = { name: "Campaign", template_id, chat_number_id: from.id, contacts };
  const headers = { "idempotency-key": unique("key") };
  const request = { token: of.token, json, headers };
  const { status, body, text } = await api.send("POST", "/api/v1/chat/campaigns", request);
  assert.deepEqual([status, body.total_contacts], [201, 1], text);
});

test("a stop from a user ID without a phone ends messages to the number that the person had, and to the one they move to", async () => {
  const [bsuid, moved] = [unique("IN."), unique("IN.")];
  const [from, wa_id] = [`9198${newDigits()}`, `9198${newDigits()}`];
  await receive(stopFrom(bsuid, minutes(-10)));
  assert.deepEqual([await isReached(from), await isReached(wa_id)], [true, true]);
  const system = { type: "user_changed_number", wa_id, user_id: moved };
  const timestamp = String(Math.floor(api.clock.now().getTime() / 1_000));
  const change = { id: unique("in"), from, from_user_id: bsuid, timestamp, type: "system", system };
  const metadata = { phone_number_id: number.provider_phone_number_id };
  const value = { messaging_product: "whatsapp", metadata, messages: [change] };
  await receive(changeHook(number, "messages", value));
  assert.deepEqual([await isReached(from), await isReached(wa_id)], [false, false]);
});

test("a stop from a user ID ends messages of open campaigns to its phone, and the other way, once a webhook links both", async (t) => {
  const sender = await makeAccount(api.app);
  await makeCredits(api.app, sender, { chat: 100 });
  const from = await makeChatNumber(api.app, sender, { driver: "whatsapp" });
  const template = await makeChatTemplate(api.app, sender, from, { driver: "whatsapp" });
  const people = [0, 1].map(() => ({ phone: `9198${newDigits()}`, bsuid: unique("IN.") }));
  const [by_id, by_phone] = people as [(typeof people)[0], (typeof people)[0]];
  const listed = [by_id.phone, by_phone.phone, other];
  const rows = listed.map((phone) => ({ phone }));
  const id = await makeChatCampaign(api.app, sender, from, template, rows);
  await api.app.db.pool.query(
    "update chat_recipients set phone = null, bsuid = $4 where account_id = $1 and campaign_id = $2 and phone = $3",
    [sender.account_id, id, by_phone.phone, by_phone.bsuid],
  );
  for (const address of [by_id.bsuid, by_phone.phone])
    await receive(messageHook(from, [{ id: unique("in"), from: address, text: "STOP" }]));
  const contacts = people.map(({ phone: wa_id, bsuid: user_id }) => ({ wa_id, user_id }));
  const metadata = { phone_number_id: from.provider_phone_number_id };
  const value = { messaging_product: "whatsapp", metadata, contacts, messages: [] };
  await receive(changeHook(from, "messages", value));
  const senders = openSenders(api.app, default_settings);
  t.after(() => senders.stop());
  await senders.startDue();
  const path = `/api/v1/chat/campaigns/${id}`;
  const read = async (rest = "") => (await api.send("GET", path + rest, sender)).body;
  await eventually(async () => (await read()).status === "completed");
  const { data } = await read("/recipients");
  const states = data.map(({ state, error }: Record<string, unknown>) => error ?? state);
  assert.deepEqual(states.toSorted(), ["accepted", "suppressed", "suppressed"]);
});

test("a stop by reply ends only marketing where the account chooses so", async () => {
  const set = async (stop_scope: "all" | "marketing") =>
    assert.equal((await send("PATCH", "/account", { chat: { stop_scope } })).status, 200);
  const from = `9198${newDigits()}`;
  await set("marketing");
  await receive(stopFrom(from));
  assert.deepEqual([await isReached(from), await isReached(from, "MARKETING")], [true, false]);
  await set("all");
  await receive(stopFrom(from));
  assert.equal(await isReached(from), false, "a later stop under the other setting");
});

test("a stop from the number under which WhatsApp knows a phone, or its suppression, ends messages to the phone, and a template that becomes marketing is not sent to those who stopped marketing", async (t) => {
  const sender = await makeAccount(api.app);
  await makeCredits(api.app, sender, { chat: 100 });
  const from = await makeChatNumber(api.app, sender, { driver: "whatsapp" });
  const template = await makeChatTemplate(api.app, sender, from, { driver: "whatsapp" });
  const senders = openSenders(api.app, default_settings);
  t.after(() => senders.stop());
  const [stopped, listed, free] = Array.from({ length: 3 }, () => `9198${newDigits()}`);
  const phones = [stopped!, listed!, free!];
  for (const [i, phone] of phones.entries()) waIds.set(phone, `4477${newDigits()}${i}`);

  const sendTo = async (
    to: readonly string[],
    beforeSending: () => Promise<unknown> = async () => {},
  ): Promise<Record<string, string>> => {
    const rows = to.map((phone) => ({ phone }));
    const id = await makeChatCampaign(api.app, sender, from, template, rows);
    await beforeSending();
    await senders.startDue();
    const path = `/api/v1/chat/campaigns/${id}`;
    const read = async (rest = "") => (await api.send("GET", path + rest, sender)).body;
    await eventually(async () => (await read()).status === "completed");
    const { data } = await read("/recipients");
    return Object.fromEntries(
      data.map((one: { phone_number: string; state: string }) => [one.phone_number, one.state]),
    );
  };
  const accepted = Object.fromEntries(phones.map((phone) => [phone, "accepted"]));
  assert.deepEqual(await sendTo(phones), accepted);
  const text = "STOP";
  await receive(messageHook(from, [{ id: unique("in"), from: waIds.get(stopped!)!, text }]));
  await makeSuppression(api.app, sender, waIds.get(listed!)!, { channel: "chat" });
  assert.deepEqual(await sendTo(phones), {
    ...accepted,
    [stopped!]: "skipped",
    [listed!]: "skipped",
  });
  assert.deepEqual(await sendTo([waIds.get(free!)!]), { [waIds.get(free!)!]: "accepted" });

  // Also in a campaign that is open when the provider changes the category.
  await makeSuppression(api.app, sender, free!, { channel: "chat", scope: "marketing" });
  const setCategory = (category: Category) =>
    api.app.db.query
      .updateTable("chat_templates")
      .set({ category })
      .where("account_id", "=", sender.account_id)
      .execute();
  await setCategory("UTILITY");
  assert.deepEqual(await sendTo([free!]), { [free!]: "accepted" });
  const change = () => setCategory("MARKETING");
  assert.deepEqual(await sendTo([free!], change), { [free!]: "skipped" });
});
