import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  type TestChatNumber,
} from "../../../test/support/chat-factory.ts";
import {
  changeHook,
  messageHook,
  openTestWhatsapp,
  preferenceHook,
  statusHook,
  type TestMessage,
  type TestStatus,
} from "../../../test/support/chat-webhooks.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { linkBsuids } from "../../audience/suppressions/link-bsuids.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { acquireLease } from "../../engine/leases.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { settleUnknown } from "../campaigns/settle-unknown.ts";
import { createChatNumber } from "../numbers/create-chat-number.ts";
import { repeatSkipDuplicates } from "../campaigns/skip-duplicate-people.ts";
import { applyWebhooks } from "./apply-webhooks.ts";
import { endExpiredRestriction } from "./end-restriction.ts";
import { applyFailureEffect, failureEffects } from "./failure-effects.ts";
import { decideAction } from "../messages/error-actions.ts";
import { makeCallNoticeId, makeMessageId, makeTestId } from "../messages/message-id.ts";
import { recipientStates, type RecipientState } from "../recipients/recipient-states.ts";

let api: TestApi;
let account: TestAccount;
let number: TestChatNumber;
let template_id: number;

before(async () => {
  api = await startApi({ chatDrivers: { whatsapp: openTestWhatsapp() } });
  [account, number, template_id] = await makeFixture();
});
after(() => api.close());

async function makeFixture() {
  const made = await makeAccount(api.app);
  await makeCredits(api.app, made, { chat: 100_000 });
  const from = await makeChatNumber(api.app, made, { driver: "whatsapp" });
  const template = await makeChatTemplate(api.app, made, from, { driver: "whatsapp" });
  return [made, from, template] as const;
}

type Recipient = { campaign_id: number; id: number; phone: string };
let phones = 919_800_000_000;

/** A campaign whose recipients are in these states, each reached from queued as the sender would. */
async function makeRecipients(states: readonly RecipientState[]): Promise<Recipient[]> {
  const made = states.map(() => ({ phone: String(++phones) }));
  const campaign_id = await makeChatCampaign(api.app, account, number, template_id, made);
  const rows = await api.app.db.query
    .selectFrom("chat_recipients")
    .select(["campaign_id", "id", "phone"])
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("id")
    .execute();
  const move = (state: (at: number) => RecipientState | null, dispatches: number) =>
    api.app.db.pool.query("select from chat_move_recipients_json($1, 'sender', $2, $3)", [
      account.account_id,
      JSON.stringify(
        rows.flatMap(({ id }, i) => {
          const to = state(i);
          const due_at = to === "unknown" ? api.clock.now() : null;
          return to === null ? [] : [{ campaign_id, id, dispatches, state: to, due_at }];
        }),
      ),
      api.clock.now(),
    ]);
  await move((i) => (states[i] === "queued" ? null : "dispatching"), 0);
  await move((i) => (["queued", "dispatching"].includes(states[i]!) ? null : states[i]!), 1);
  return rows.map((row) => ({ ...row, phone: row.phone! }));
}

const messageIdOf = ({ campaign_id, id }: Recipient, dispatches = 1, of = account) =>
  makeMessageId({ account_id: of.account_id, campaign_id, recipient_id: id, dispatches });

const statusOf = (
  recipient: Recipient,
  status: TestStatus["status"],
  more: Partial<TestStatus> = {},
): TestStatus => ({
  id: `wamid.${recipient.campaign_id}.${recipient.id}`,
  message_id: messageIdOf(recipient),
  status,
  ...(status === "failed" ? { code: 131026 } : {}),
  ...more,
});

/** A message to the number now, by the clock that records when messages are accepted. */
const replyHook = (reply: Omit<TestMessage, "at">) =>
  messageHook(number, [{ ...reply, at: api.clock.now() }]);

const take = (body: string) => api.app.webhookReceiver.take("whatsapp", body);
const apply = () => applyWebhooks(api.app, new AbortController().signal);
async function takeAndApply(...bodies: string[]): Promise<void> {
  for (const body of bodies) await take(body);
  await apply();
}

const recipientsOf = (campaign_id: number) =>
  api.app.db.query
    .selectFrom("chat_recipients")
    .selectAll()
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("id")
    .execute();

const recipientOf = async ({ campaign_id, id }: Recipient) =>
  (await recipientsOf(campaign_id)).find((row) => row.id === id)!;

const inbox = () =>
  api.app.db.query
    .selectFrom("chat_inbox")
    .select(["id", "body"])
    .where("account_id", "=", account.account_id)
    .execute();

const suppressionsOf = (phone: string) =>
  api.app.db.query
    .selectFrom("suppressions")
    .select(["channel", "scope", "source", "expires_at"])
    .where("account_id", "=", account.account_id)
    .where("person_key", "=", phoneKey(phone))
    .where("lifted_at", "is", null)
    .execute();

const repliesOf = (phone: string) =>
  api.app.db.query
    .selectFrom("chat_replies")
    .selectAll()
    .where("account_id", "=", account.account_id)
    .where("phone", "=", phone)
    .orderBy("id")
    .execute();

async function optOutsOf(phone: string) {
  const { rows } = await api.app.db.pool.query<{ data: Record<string, unknown> }>(
    `select data from events where account_id = $1 and type = 'chat.optout'
       and data->>'phone_number' = $2 order by id`,
    [account.account_id, phone],
  );
  return rows.map(({ data }) => data);
}

/** Counts and charges: the slots of counts sum to what is there, and what is charged is what was captured and not refunded. */
async function checkCampaign(campaign_id: number): Promise<void> {
  const rows = await recipientsOf(campaign_id);
  const sums = recipientStates.map((state) => `sum(${state})::int as ${state}`).join(", ");
  const { rows: counted } = await api.app.db.pool.query<Record<string, number>>(
    `select ${sums} from chat_counts where account_id = $1 and campaign_id = $2`,
    [account.account_id, campaign_id],
  );
  const there = Object.fromEntries(
    recipientStates.map((state) => [state, rows.filter((row) => row.state === state).length]),
  );
  assert.deepEqual(counted[0], there);
  const { rows: credit } = await api.app.db.pool.query<{ spent: number }>(
    `select coalesce(sum(case t.type when 'capture' then amount when 'refund' then -amount end), 0)::int as spent
     from chat_campaigns c
     join credit_transfers t on t.account_id = c.account_id and t.reservation_id = c.reservation_id
     where c.account_id = $1 and c.id = $2`,
    [account.account_id, campaign_id],
  );
  assert.equal(credit[0]!.spent, rows.filter(({ charged }) => charged).length);
}

const rank: Record<TestStatus["status"], number> = { sent: 1, failed: 2, delivered: 3, read: 4 };
const reached = {
  sent: "sent",
  failed: "undelivered",
  delivered: "delivered",
  read: "read",
} as const;

test("statuses in any order, repeated and in any batches, lead to the furthest of them, with counts and credit", async () => {
  const starts = ["dispatching", "unknown", "accepted"] as const;
  const statuses = ["sent", "failed", "delivered", "read"] as const;
  const history = fc.record({
    starts: fc.array(fc.constantFrom(...starts), { minLength: 1, maxLength: 5 }),
    /** Recipient, status, whether it carries our ID, and its positions among the arrivals. */
    drawn: fc.array(
      fc.record({
        of: fc.nat(4),
        status: fc.constantFrom(...statuses),
        named: fc.boolean(),
        place: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 3 }),
      }),
      { maxLength: 20 },
    ),
    hook_size: fc.integer({ min: 1, max: 4 }),
    batch_hooks: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(history, async ({ starts: from, drawn, hook_size, batch_hooks }) => {
      const recipients = await makeRecipients(from);
      const { campaign_id } = recipients[0]!;
      const events = drawn.map((event) => ({ ...event, of: event.of % recipients.length }));
      const arrivals = events
        .flatMap((event) => event.place.map((place) => ({ place, event })))
        .toSorted((a, b) => a.place - b.place)
        .map(({ event }) =>
          statusOf(recipients[event.of]!, event.status, {
            // A recipient's first status carries our message ID: the provider's ID is not known yet.
            message_id:
              event.named || events.find(({ of }) => of === event.of) === event
                ? messageIdOf(recipients[event.of]!)
                : `another system's ${event.of}`,
          }),
        );
      for (let i = 0; i < arrivals.length; i += hook_size) {
        await take(statusHook(number, arrivals.slice(i, i + hook_size)));
        if ((i / hook_size) % batch_hooks === 0) await apply();
      }
      await apply();
      // Statuses that arrived before their message was known are retried.
      api.clock.advance(5_000);
      await apply();
      const ends = await recipientsOf(campaign_id);
      for (const [i, end] of ends.entries()) {
        const received = events.filter(({ of }) => of === i).map(({ status }) => status);
        const furthest = received.toSorted((a, b) => rank[b] - rank[a])[0];
        assert.equal(end.state, furthest ? reached[furthest] : from[i]);
      }
      assert.deepEqual(await inbox(), []);
      await checkCampaign(campaign_id);
    }),
    { numRuns: 40 },
  );
  await checkLedger(api.app.db.pool);
});

test("a failure of a retried message counts also beside a repeated report that the failed one was sent", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const { campaign_id, id } = recipient;
  const sent = statusOf(recipient, "sent");
  await takeAndApply(statusHook(number, [sent, statusOf(recipient, "failed")]));
  const retried = await api.send("POST", `/api/v1/chat/campaigns/${campaign_id}/retry`, {
    token: account.token,
    json: {},
    headers: { "idempotency-key": unique("key") },
  });
  assert.deepEqual([retried.status, retried.body.retried], [200, 1], retried.text);
  await takeAndApply(statusHook(number, [sent]));
  assert.equal((await recipientOf(recipient)).state, "queued");
  for (const [i, state] of ["dispatching", "accepted"].entries())
    await api.app.db.pool.query("select from chat_move_recipients_json($1, 'sender', $2, $3)", [
      account.account_id,
      JSON.stringify([{ campaign_id, id, dispatches: i + 1, state }]),
      api.clock.now(),
    ]);
  const second = { id: unique("wamid"), message_id: messageIdOf(recipient, 2) };
  const failed = statusOf(recipient, "failed", second);
  await takeAndApply(statusHook(number, [sent]), statusHook(number, [failed]));
  const { state, charged } = await recipientOf(recipient);
  assert.deepEqual([state, charged], ["undelivered", false]);
  await checkCampaign(campaign_id);
});

test("each step has the provider's time, and a failure its code and our word", async () => {
  const [delivered, failed] = (await makeRecipients(["accepted", "accepted"])) as [
    Recipient,
    Recipient,
  ];
  const at = new Date("2026-11-20T10:00:00Z");
  await takeAndApply(
    statusHook(number, [statusOf(delivered, "sent", { at })]),
    statusHook(number, [statusOf(failed, "failed", { at, code: 131026 })]),
  );
  await takeAndApply(
    statusHook(number, [statusOf(delivered, "delivered", { at: new Date(at.getTime() + 5_000) })]),
  );
  const good = await recipientOf(delivered);
  assert.equal(good.state, "delivered");
  assert.deepEqual(good.sent_at, at);
  assert.deepEqual(good.delivered_at, new Date(at.getTime() + 5_000));
  assert.equal(good.provider_message_id, statusOf(delivered, "sent").id);
  const bad = await recipientOf(failed);
  assert.deepEqual(
    [bad.state, bad.error_code, bad.error, bad.ended_at, bad.charged],
    ["undelivered", 131026, "undeliverable", at, false],
  );
});

test("a message id of another account moves nothing of that account's", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const [, theirs] = await makeFixture();
  await take(statusHook(theirs, [statusOf(recipient, "read")]));
  await apply();
  assert.equal((await recipientOf(recipient)).state, "accepted");
  // The status of an unknown message is dropped after its retention.
  api.clock.advance(1_000_000);
  await apply();
});

test("a status without our id that comes before the provider's answer is recorded is applied when that is", async () => {
  const [recipient] = (await makeRecipients(["dispatching"])) as [Recipient];
  const id = unique("wamid");
  await takeAndApply(statusHook(number, [{ id, status: "delivered" }]));
  assert.equal((await recipientOf(recipient)).state, "dispatching");
  assert.equal((await inbox()).length, 1);
  await api.app.db.pool.query("select from chat_move_recipients_json($1, 'sender', $2, $3)", [
    account.account_id,
    JSON.stringify([
      {
        campaign_id: recipient.campaign_id,
        id: recipient.id,
        dispatches: 1,
        state: "accepted",
        provider_message_id: id,
      },
    ]),
    api.clock.now(),
  ]);
  api.clock.advance(2_000);
  await apply();
  assert.equal((await recipientOf(recipient)).state, "delivered");
  assert.deepEqual(await inbox(), []);
});

test("a status of an unknown message is retried for ten minutes with growing pauses, then dropped", async () => {
  await take(statusHook(number, [{ id: unique("wamid"), status: "read" }]));
  let tries = 0;
  const began = api.clock.now().getTime();
  while ((await inbox()).length > 0) {
    tries += await apply();
    api.clock.advance(1_000);
    assert.ok(api.clock.now().getTime() - began < 1_500_000);
  }
  assert.ok(api.clock.now().getTime() - began > 600_000);
  assert.ok(tries <= 15, `${tries} tries`);
});

test("the last open recipient's report completes its campaign, whatever the sender does", async () => {
  const [first, last] = (await makeRecipients(["accepted", "unknown"])) as [Recipient, Recipient];
  const stateOf = () => campaignStateOf(first.campaign_id);
  await takeAndApply(statusHook(number, [statusOf(first, "read")]));
  assert.equal(await stateOf(), "running");
  await takeAndApply(statusHook(number, [statusOf(last, "sent")]));
  assert.equal(await stateOf(), "completed");
});

/** Returns the app of a process that ends once it has executed a statement of the form. */
function endingAfter(form: RegExp): App {
  const { db } = api.app;
  const query = async (config: { text: string }) => {
    const result = await db.pool.query(config);
    if (form.test(config.text)) throw new Error("the process has ended");
    return result;
  };
  const pool = new Proxy(db.pool, {
    get: (of, name) => (name === "query" ? query : (Reflect.get(of, name) as unknown)),
  });
  return { ...api.app, db: { ...db, pool } };
}

const campaignStateOf = async (campaign_id: number) => {
  const { state } = await api.app.db.query
    .selectFrom("chat_campaigns")
    .select("state")
    .where("account_id", "=", account.account_id)
    .where("id", "=", campaign_id)
    .executeTakeFirstOrThrow();
  return state;
};

test("a campaign completes within seconds if the applier ends once it has moved its last recipients", async () => {
  const signal = new AbortController().signal;
  const [last] = (await makeRecipients(["unknown"])) as [Recipient];
  const { campaign_id } = last;
  // The outcome would be settled in an hour.
  await api.app.db.pool.query(
    "update jobs set run_at = run_at + interval '1 h' where account_id = $1 and kind = 'chat.settle_unknown'",
    [account.account_id],
  );
  await take(statusHook(number, [statusOf(last, "delivered")]));
  await applyWebhooks(endingAfter(/apply_chat_webhooks/), signal);
  assert.equal((await recipientOf(last)).state, "delivered");
  assert.equal(await campaignStateOf(campaign_id), "running");
  api.clock.advance(5_000);
  await workJobs(api.app, { "chat.settle_unknown": settleUnknown }, signal);
  assert.equal(await campaignStateOf(campaign_id), "completed");
  await checkLedger(api.app.db.pool);
});

test("while another applier has the number's lease nothing is applied; afterwards all of it is", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const lease = await acquireLease(api.app, account.account_id, `chat_inbound:${number.id}`);
  assert.ok(lease);
  await takeAndApply(statusHook(number, [statusOf(recipient, "read")]));
  assert.equal((await recipientOf(recipient)).state, "accepted");
  await lease.release();
  await apply();
  assert.equal((await recipientOf(recipient)).state, "read");
});

test("an applier that lost its lease changes nothing, not even by the statement it had begun", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const lease = await acquireLease(api.app, account.account_id, `chat_inbound:${number.id}`);
  assert.ok(lease);
  await lease.release();
  const move = { ...recipient, dispatches: 1, state: "read" };
  await assert.rejects(
    api.app.db.pool.query(
      "select from apply_delivery_statuses($1, $2, $3, $4, '[]', '{}', '[]', $5)",
      [account.account_id, number.id, lease.fence, JSON.stringify([move]), api.clock.now()],
    ),
    { code: "TL001" },
  );
  assert.equal((await recipientOf(recipient)).state, "accepted");
});

test("several appliers at once apply everything once", async () => {
  const recipients = await makeRecipients(Array<RecipientState>(300).fill("dispatching"));
  const hooks = recipients.flatMap((recipient) =>
    (["sent", "delivered", "delivered"] as const).map((status) =>
      statusHook(number, [statusOf(recipient, status)]),
    ),
  );
  await Promise.all(hooks.map(take));
  const loop = async () => {
    while ((await inbox()).length > 0) await apply();
  };
  await Promise.all([loop(), loop(), loop()]);
  const { campaign_id } = recipients[0]!;
  assert.ok((await recipientsOf(campaign_id)).every(({ state }) => state === "delivered"));
  await checkCampaign(campaign_id);
  await checkLedger(api.app.db.pool);
});

test("webhooks that cannot be applied are taken apart, hold up no other, and are kept as unread after a day", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const now = api.clock.now();
  await api.app.db.query
    .insertInto("chat_inbox")
    .values({
      account_id: account.account_id,
      chat_number_id: number.id,
      driver: "sandbox",
      body: "[{},{}]",
      received_at: now,
      due_at: now,
    })
    .execute();
  await takeAndApply(statusHook(number, [statusOf(recipient, "read")]));
  assert.equal((await recipientOf(recipient)).state, "read");
  await apply();
  assert.deepEqual(
    (await inbox()).map(({ body }) => body),
    [[{}], [{}]],
  );
  api.clock.advance(2 * 86_400_000);
  await apply();
  assert.deepEqual(await inbox(), []);
  const unread = await api.app.db.query
    .selectFrom("chat_unread_webhooks")
    .select(["body", "reason"])
    .where("account_id", "=", account.account_id)
    .execute();
  const kept = { body: {}, reason: "could not be applied" };
  assert.deepEqual(unread, [kept, kept]);
});

test("webhooks that take too long together are applied one by one", async (t) => {
  const recipients = await makeRecipients(["accepted", "accepted", "accepted", "accepted"]);
  const { pool } = api.app.db;
  t.after(() => pool.query("drop function too_slow cascade"));
  await pool.query(`
    create function too_slow() returns trigger language plpgsql as $$
    begin
      if (select count(*) from moved) > 1 then
        raise 'canceling statement due to statement timeout' using errcode = '57014';
      end if;
      return null;
    end $$;
    create trigger too_slow after update on chat_recipients referencing new table as moved
      for each statement execute function too_slow()`);
  const hooks = recipients.map((one) => statusHook(number, [statusOf(one, "read")]));
  const now = api.clock.now();
  const row = { account_id: account.account_id, chat_number_id: number.id, driver: "whatsapp" };
  for (const together of [hooks.slice(0, 1), hooks.slice(1, 2), hooks.slice(2)])
    await api.app.db.query
      .insertInto("chat_inbox")
      .values({ ...row, body: `[${together.join(",")}]`, received_at: now, due_at: now })
      .execute();
  const states = async () =>
    (await recipientsOf(recipients[0]!.campaign_id)).map(({ state }) => state);
  await apply();
  assert.deepEqual(await states(), ["read", "read", "accepted", "accepted"]);
  await apply();
  assert.deepEqual(await states(), ["read", "read", "read", "read"]);
  assert.deepEqual(await inbox(), []);
});

test("a status of an unknown message is kept once, however often side effects beside it fail", async (t) => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const { pool } = api.app.db;
  const stopRefusing = () => pool.query("drop function if exists refuse cascade");
  t.after(stopRefusing);
  await pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before insert on suppressions for each row execute function refuse()`);
  const unknown = (): TestStatus => ({ id: unique("wamid"), status: "read" });
  const refused = statusOf(recipient, "failed", { code: 131050 });
  await take(statusHook(number, [unknown()]));
  await take(statusHook(number, [unknown(), refused]));
  await take(messageHook(number, [{ id: unique("in"), from: String(++phones), text: "STOP" }]));
  await apply();
  const statuses = async () => JSON.stringify(await inbox()).split(`"status":"read"`).length - 1;
  assert.equal(await statuses(), 2);
  api.clock.advance(2_000);
  await apply();
  assert.equal(await statuses(), 2);
  await stopRefusing();
  api.clock.advance(10_000);
  await apply();
  assert.equal((await suppressionsOf(recipient.phone)).length, 1);
  assert.equal(await statuses(), 2);
  api.clock.advance(1_000_000);
  await apply();
  assert.deepEqual(await inbox(), []);
});

test("a reply is kept once, with the recipient whose message it answers", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const from = recipient.phone;
  await takeAndApply(statusHook(number, [statusOf(recipient, "delivered")]));
  const named = messageHook(number, [
    { id: unique("in"), from, text: "yes", answers: statusOf(recipient, "sent").id },
  ]);
  const plain = replyHook({ id: unique("in"), from, text: "and \u0000 more \ud800" });
  const wrong = messageHook(number, [
    { id: unique("in"), from: String(++phones), text: "who are you?", answers: "wamid.other" },
  ]);
  await takeAndApply(named, plain, named, wrong);
  await takeAndApply(named, plain);
  const replies = await repliesOf(from);
  assert.deepEqual(
    replies.map(({ text, campaign_id, recipient_id, opted_out }) => ({
      text,
      campaign_id,
      recipient_id,
      opted_out,
    })),
    ["yes", "and  more \ufffd"].map((text) => ({
      text,
      campaign_id: recipient.campaign_id,
      recipient_id: recipient.id,
      opted_out: false,
    })),
  );
  const [stranger] = await repliesOf(String(phones));
  assert.equal(stranger?.recipient_id, null);
  assert.deepEqual(await suppressionsOf(from), []);
});

test("a person who is in a running campaign by phone and by BSUID gets one message once a webhook links both", async () => {
  const made = await Promise.all(
    (
      [
        ["accepted", "queued"],
        ["queued", "accepted"],
        ["queued", "queued"],
        ["refused", "queued"],
        ["queued", "queued", "queued"],
        ["queued", "accepted", "accepted"],
      ] as const
    ).map(makeRecipients),
  );
  // The first by phone, the others by BSUID.
  const linked = made.flatMap(([phone, ...others]) =>
    others.map((other) => ({ phone: phone!, other, bsuid: unique("IN.") })),
  );
  for (const { other, bsuid } of linked)
    await api.app.db.pool.query(
      "update chat_recipients set phone = null, bsuid = $4 where account_id = $1 and campaign_id = $2 and id = $3",
      [account.account_id, other.campaign_id, other.id, bsuid],
    );
  const value = {
    messaging_product: "whatsapp",
    metadata: { phone_number_id: number.provider_phone_number_id },
    contacts: linked.map(({ phone, bsuid }) => ({ wa_id: phone.phone, user_id: bsuid })),
    messages: linked.map(({ phone, bsuid }) => ({
      id: unique("in"),
      from: phone.phone,
      from_user_id: bsuid,
      timestamp: String(Math.floor(Date.now() / 1_000)),
      type: "text",
      text: { body: "hello" },
    })),
  };
  await takeAndApply(changeHook(number, "messages", value));
  const states = await Promise.all(
    made.map(async ([phone]) =>
      (await recipientsOf(phone!.campaign_id)).map(({ state, error }) => error ?? state),
    ),
  );
  assert.deepEqual(states, [
    ["accepted", "duplicate"],
    ["duplicate", "accepted"],
    ["queued", "duplicate"],
    ["refused", "queued"],
    ["queued", "duplicate", "duplicate"],
    ["duplicate", "accepted", "accepted"],
  ]);
  await checkLedger(api.app.db.pool);
});

async function skipsSecondAddress(kind: "STOP" | "START" | "move"): Promise<void> {
  const [answered] = (await makeRecipients(["accepted"])) as [Recipient];
  await takeAndApply(statusHook(number, [statusOf(answered, "delivered")]));
  const [listed] = (await makeRecipients(["queued", "queued"])) as [Recipient];
  const { campaign_id } = listed;
  const bsuid = unique("IN.");
  await api.app.db.pool.query(
    `update chat_recipients set phone = case when id = $3 then $4 end, bsuid = case when id <> $3 then $5 end
       where account_id = $1 and campaign_id = $2`,
    [account.account_id, campaign_id, listed.id, answered.phone, bsuid],
  );
  const { id } = statusOf(answered, "sent");
  const content =
    kind === "move"
      ? {
          from_user_id: unique("IN."),
          type: "system",
          system: { type: "user_changed_user_id", user_id: bsuid, wa_id: answered.phone },
        }
      : { from_user_id: bsuid, type: "text", text: { body: kind }, context: { id } };
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const value = {
    messaging_product: "whatsapp",
    metadata: { phone_number_id: number.provider_phone_number_id },
    messages: [{ id: unique("in"), timestamp, ...content }],
  };
  await takeAndApply(changeHook(number, "messages", value));
  const states = (await recipientsOf(campaign_id)).map(({ state, error }) => error ?? state);
  assert.deepEqual(states, ["queued", "duplicate"]);
  assert.equal((await suppressionsOf(answered.phone)).length, kind === "STOP" ? 1 : 0);
  await checkLedger(api.app.db.pool);
}

for (const kind of ["STOP", "START", "move"] as const)
  test(`a ${kind} that shows the phone of a BSUID skips the second address in open campaigns`, () =>
    skipsSecondAddress(kind));

/**
 * Reports that a person got a campaign's message by one address, and that the provider declined to deliver it by the
 * other. Returns the recipient by phone; the one by BSUID is the next.
 */
async function takeSecondAddressFailure(declined: "phone" | "bsuid"): Promise<Recipient> {
  const [listed, other] = (await makeRecipients(["accepted", "accepted"])) as [
    Recipient,
    Recipient,
  ];
  const { account_id } = account;
  const bsuid = unique("IN.");
  await api.app.db.pool.query(
    "update chat_recipients set phone = null, bsuid = $4 where account_id = $1 and campaign_id = $2 and id = $3",
    [account_id, other.campaign_id, other.id, bsuid],
  );
  const links = [{ bsuid, phone: listed.phone }];
  await api.app.db.query
    .transaction()
    .execute((tx) => linkBsuids(tx, account_id, links, api.clock.now()));
  const [failed, received] = declined === "phone" ? [listed, other] : [other, listed];
  const capped = statusOf(failed, "failed", { code: 131049 });
  await take(statusHook(number, [statusOf(received, "delivered"), capped]));
  return listed;
}

const outcomesOf = async ({ campaign_id }: Recipient) =>
  (await recipientsOf(campaign_id)).map(({ state, error }) => error ?? state);

test("a message that is tried again is skipped if its person got it under another address meanwhile", async () => {
  const listed = await takeSecondAddressFailure("phone");
  await apply();
  assert.deepEqual(await outcomesOf(listed), ["duplicate", "delivered"]);
  await checkLedger(api.app.db.pool);
});

async function skipsAfterKills(declined: "phone" | "bsuid"): Promise<void> {
  const signal = new AbortController().signal;
  const inOrder = (outcome: string) =>
    declined === "phone" ? [outcome, "delivered"] : ["delivered", outcome];
  const listed = await takeSecondAddressFailure(declined);
  await applyWebhooks(endingAfter(/apply_chat_webhooks/), signal);
  assert.deepEqual(await outcomesOf(listed), inOrder("frequency_capped"));
  const handlers = { "chat.skip_duplicates": repeatSkipDuplicates };
  await workJobs(endingAfter(/chat_move_recipients_json/), handlers, signal);
  assert.deepEqual(await outcomesOf(listed), inOrder("duplicate"));
  assert.equal(await campaignStateOf(listed.campaign_id), "running");
  api.clock.advance(2_000);
  await workJobs(api.app, handlers, signal);
  assert.equal(await campaignStateOf(listed.campaign_id), "completed");
  await checkLedger(api.app.db.pool);
}

for (const declined of ["phone", "bsuid"] as const)
  test(`a message to a ${declined} that is tried again is also skipped, and its campaign completed, if the applier ends before, and the job that skips it before it completes the campaign`, () =>
    skipsAfterKills(declined));

test("a reply that names no message is linked to the latest of the day from that number alone", async () => {
  const [older] = (await makeRecipients(["accepted"])) as [Recipient];
  await takeAndApply(statusHook(number, [statusOf(older, "read")]));
  const from = older.phone;
  api.clock.advance(25 * 3_600_000);
  const at = api.clock.now();
  const late = messageHook(number, [{ id: unique("in"), from, text: "hello?", at }]);
  await takeAndApply(late);
  assert.equal((await repliesOf(from))[0]?.recipient_id, null);
});

test("a reply that is applied late is linked to no message that was sent after it", async () => {
  const [earlier, later] = (await makeRecipients(["accepted", "accepted"])) as [
    Recipient,
    Recipient,
  ];
  const from = earlier.phone;
  const at = api.clock.now();
  await api.app.db.pool.query(
    `update chat_recipients set phone = $3,
       accepted_at = $5::timestamptz + case when id = $4 then interval '1 hour' else interval '-1 hour' end
     where account_id = $1 and campaign_id = $2`,
    [account.account_id, earlier.campaign_id, from, later.id, at],
  );
  await takeAndApply(messageHook(number, [{ id: unique("in"), from, text: "yes", at }]));
  assert.equal((await repliesOf(from))[0]?.recipient_id, earlier.id);
});

test("a reply that is applied before the delivery status of its message is linked to it", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const from = recipient.phone;
  await takeAndApply(replyHook({ id: unique("in"), from, text: "yes" }));
  assert.equal((await repliesOf(from))[0]?.recipient_id, recipient.id);
});

test("a stop word, in any case and with space around, suppresses the phone once, with its event", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  const from = recipient.phone;
  await takeAndApply(statusHook(number, [statusOf(recipient, "delivered")]));
  const stop = replyHook({ id: unique("in"), from, text: "  sToP \n" });
  await takeAndApply(stop, stop);
  assert.deepEqual(await suppressionsOf(from), [
    { channel: "chat", scope: "all", source: "reply", expires_at: null },
  ]);
  const [reply, ...more] = await repliesOf(from);
  assert.equal(more.length, 0);
  assert.ok(reply?.opted_out);
  const events = await optOutsOf(from);
  assert.deepEqual(events, [
    {
      phone_number: from,
      bsuid: null,
      source: "reply",
      scope: "all",
      chat_number_id: number.id,
      reply_id: reply.id,
      campaign_id: recipient.campaign_id,
      recipient_id: recipient.id,
    },
  ]);
  assert.deepEqual(await inbox(), []);
});

test("a stop in answer to a message also suppresses the number that was written to, where the provider knows another", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  await takeAndApply(statusHook(number, [statusOf(recipient, "delivered")]));
  // WhatsApp omits the ninth digit of Brazilian numbers in older accounts.
  const from = String(++phones);
  const answers = statusOf(recipient, "sent").id;
  await takeAndApply(messageHook(number, [{ id: unique("in"), from, text: "STOP", answers }]));
  for (const phone of [recipient.phone, from])
    assert.equal((await suppressionsOf(phone)).length, 1, phone);
});

test("an opt-out that was lifted by a person is not renewed by the same reply sent again", async () => {
  const from = String(++phones);
  const stop = messageHook(number, [{ id: unique("in"), from, text: "STOP" }]);
  await takeAndApply(stop);
  await api.app.db.query
    .deleteFrom("suppressions")
    .where("account_id", "=", account.account_id)
    .where("phone", "=", from)
    .execute();
  await takeAndApply(stop);
  assert.deepEqual(await suppressionsOf(from), []);
});

test("an account's own words stop too, the built-in ones always, and neither within a sentence", async () => {
  await api.app.db.query
    .updateTable("accounts")
    .set({ chat_stop_words: ["Genug jetzt"] })
    .where("account_id", "=", account.account_id)
    .execute();
  for (const [text, stops] of [
    ["GENUG JETZT, sagte ich", 1],
    ["Stop", 1],
    ["Ich sagte genug jetzt nicht", 0],
    ["Where does the bus stop today?", 0],
  ] as const) {
    const from = String(++phones);
    await takeAndApply(messageHook(number, [{ id: unique("in"), from, text }]));
    assert.equal((await suppressionsOf(from)).length, stops, text);
  }
});

test("replies overtake a backlog of statuses", async () => {
  const from = String(++phones);
  await take(statusHook(number, [{ id: unique("wamid"), status: "read" }]));
  await take(messageHook(number, [{ id: unique("in"), from, text: "hi" }]));
  const { rows } = await api.app.db.pool.query<{ kind: string }>(
    `select case when body::jsonb #> '{0,entry,0,changes,0,value,messages}' is null then 'status' else 'reply' end as kind
     from chat_inbox where account_id = $1 order by due_at, id`,
    [account.account_id],
  );
  assert.deepEqual(
    rows.map(({ kind }) => kind),
    ["reply", "status"],
  );
  api.clock.advance(1_000_000);
  await apply();
});

test("a customer's stop at the provider suppresses, a later resume lifts that and nothing else", async () => {
  const from = String(++phones);
  const at = (hour: number) => new Date(Date.UTC(2026, 10, 20, hour));
  await takeAndApply(preferenceHook(number, { from, value: "stop", at: at(10) }));
  assert.deepEqual(await suppressionsOf(from), [
    { channel: "chat", scope: "marketing", source: "provider", expires_at: null },
  ]);
  assert.equal((await optOutsOf(from)).length, 1);
  await takeAndApply(preferenceHook(number, { from, value: "resume", at: at(9) }));
  assert.equal((await suppressionsOf(from)).length, 1, "an older resume lifts nothing");
  await takeAndApply(preferenceHook(number, { from, value: "resume", at: at(11) }));
  assert.deepEqual(await suppressionsOf(from), []);

  const replied = String(++phones);
  await takeAndApply(
    messageHook(number, [{ id: unique("in"), from: replied, text: "genug jetzt" }]),
  );
  await takeAndApply(preferenceHook(number, { from: replied, value: "resume" }));
  assert.equal((await suppressionsOf(replied)).length, 1);
});

test("a failure because the customer opted out suppresses the phone", async () => {
  const [recipient] = (await makeRecipients(["accepted"])) as [Recipient];
  await takeAndApply(statusHook(number, [statusOf(recipient, "failed", { code: 131050 })]));
  const { state, error } = await recipientOf(recipient);
  assert.deepEqual([state, error], ["undelivered", "opted_out"]);
  assert.deepEqual(await suppressionsOf(recipient.phone), [
    { channel: "chat", scope: "marketing", source: "provider", expires_at: null },
  ]);
  assert.equal((await optOutsOf(recipient.phone)).length, 1);
  assert.deepEqual(await inbox(), []);
});

test("a call notification or test message that failed because the customer opted out suppresses the phone, once", async () => {
  for (const message_id of [
    makeCallNoticeId(account.account_id, 7),
    makeTestId(crypto.randomUUID()),
  ]) {
    const to = String(++phones);
    const of = { id: unique("wamid"), message_id, to };
    const failed = statusHook(number, [{ ...of, status: "failed", code: 131050 }]);
    await takeAndApply(statusHook(number, [{ ...of, status: "sent" }]), failed);
    await takeAndApply(failed);
    assert.deepEqual(await suppressionsOf(to), [
      { channel: "chat", scope: "marketing", source: "provider", expires_at: null },
    ]);
    assert.equal((await optOutsOf(to)).length, 1);
    assert.deepEqual(await inbox(), []);
  }
});

test("another failure, or another account's call notification, suppresses no phone", async () => {
  const to = String(++phones);
  const foreign = makeCallNoticeId(account.account_id + 1, 7);
  const own = makeCallNoticeId(account.account_id, 8);
  const failed = { id: unique("wamid"), status: "failed", to } as const;
  await takeAndApply(
    statusHook(number, [{ ...failed, message_id: foreign, code: 131050 }]),
    statusHook(number, [{ ...failed, message_id: own, code: 131026 }]),
  );
  assert.deepEqual(await suppressionsOf(to), []);
  api.clock.advance(700_000);
  await apply();
  assert.deepEqual(await inbox(), []);
});

test("a restriction of the business account holds its numbers, and no others", async () => {
  const other = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  await takeAndApply(
    changeHook(other, "account_update", { event: "ACCOUNT_VIOLATION", violation_info: {} }),
  );
  const holds = () =>
    api.app.db.query
      .selectFrom("chat_holds")
      .select(["scope", "subject_id", "reason"])
      .where("account_id", "=", account.account_id)
      .execute();
  assert.deepEqual(await holds(), []);
  await takeAndApply(
    changeHook(other, "account_update", {
      event: "DISABLED_UPDATE",
      ban_info: { waba_ban_state: "REINSTATE" },
    }),
  );
  assert.deepEqual(await holds(), []);
  await takeAndApply(changeHook(other, "account_update", { event: "ACCOUNT_RESTRICTION" }));
  assert.deepEqual(await holds(), [
    { scope: "number", subject_id: other.id, reason: "sender_restricted" },
  ]);
  assert.deepEqual(await inbox(), []);
});

for (const code of [null, 368, 131031])
  test(`a restriction that expires does not end an earlier ban, which ends when the account is reinstated${code ? `, also when a message was refused with ${code} first` : ""}`, () =>
    checkEarlierBan(code));

async function checkEarlierBan(code: number | null): Promise<void> {
  const banned = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const post = (value: object) => takeAndApply(changeHook(banned, "account_update", value));
  const ban = (waba_ban_state: string) =>
    post({ event: "DISABLED_UPDATE", ban_info: { waba_ban_state } });
  const holds = () =>
    api.app.db.query
      .selectFrom("chat_holds")
      .select("ends_at")
      .where("account_id", "=", account.account_id)
      .where("subject_id", "=", banned.id)
      .execute();
  if (code !== null) await refuseMessage(banned, code);
  await ban("DISABLE");
  const expiration = Math.floor(api.clock.now().getTime() / 1_000) + 3_600;
  const restriction_info = [{ restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING", expiration }];
  for (let i = 0; i < 2; i++) await post({ event: "ACCOUNT_RESTRICTION", restriction_info });
  api.clock.advance(7_200_000);
  const handlers = { "chat.end_restriction": endExpiredRestriction };
  await workJobs(api.app, handlers, new AbortController().signal);
  assert.deepEqual(await holds(), [{ ends_at: null }]);
  await ban("REINSTATE");
  assert.deepEqual(await holds(), []);
}

test("a restriction that a message noticed first ends when it expires; it allows answers until a ban follows", async () => {
  const restricted = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  await refuseMessage(restricted, 131031);
  const expiration = Math.floor(api.clock.now().getTime() / 1_000) + 3_600;
  const restriction_info = [{ restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING", expiration }];
  const post = (value: object) => takeAndApply(changeHook(restricted, "account_update", value));
  await post({ event: "ACCOUNT_RESTRICTION", restriction_info });
  const holds = () =>
    api.app.db.query
      .selectFrom("chat_holds")
      .select(["ends_at", "allows_answers"])
      .where("account_id", "=", account.account_id)
      .where("subject_id", "=", restricted.id)
      .execute();
  assert.deepEqual(await holds(), [
    { ends_at: new Date(expiration * 1_000), allows_answers: true },
  ]);
  api.clock.advance(3_600_000);
  const handlers = { "chat.end_restriction": endExpiredRestriction };
  await workJobs(api.app, handlers, new AbortController().signal);
  assert.deepEqual(await holds(), []);
  await post({
    event: "ACCOUNT_RESTRICTION",
    restriction_info: [{ restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING" }],
  });
  assert.deepEqual(await holds(), [{ ends_at: null, allows_answers: true }]);
  await post({ event: "DISABLED_UPDATE", ban_info: { waba_ban_state: "DISABLE" } });
  assert.deepEqual(await holds(), [{ ends_at: null, allows_answers: false }]);
});

test("the hold of a timed restriction names the ban that follows, and no longer an end", async () => {
  const restricted = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const ends_at = await restrict(restricted);
  assert.deepEqual(await endsOf(restricted), [ends_at]);
  const ban = { event: "DISABLED_UPDATE", ban_info: { waba_ban_state: "DISABLE" } };
  await takeAndApply(changeHook(restricted, "account_update", ban));
  const { rows } = await api.app.db.pool.query(
    "select ends_at, detail from chat_holds where account_id = $1 and scope = 'number' and subject_id = $2",
    [account.account_id, restricted.id],
  );
  assert.deepEqual(rows, [{ ends_at: null, detail: `account_update ${JSON.stringify(ban)}` }]);
  // A later restriction of a banned number ends nothing.
  await restrict(restricted);
  assert.deepEqual(await endsOf(restricted), [null]);
});

async function endsWithRestriction(
  ending: "expires" | "is lifted by the provider",
  code: number,
): Promise<void> {
  const restricted = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const post = (value: object) => takeAndApply(changeHook(restricted, "account_update", value));
  const ends_at = await restrict(restricted);
  await liftByHand(restricted);
  assert.deepEqual(await endsOf(restricted), []);
  await refuseMessage(restricted, code);
  assert.deepEqual(await endsOf(restricted), [ends_at]);
  if (ending === "expires") {
    api.clock.set(ends_at);
    await endRestrictions();
  } else await post({ event: "DISABLED_UPDATE", ban_info: { waba_ban_state: "REINSTATE" } });
  assert.deepEqual(await endsOf(restricted), []);
}

test("a hold that a message sets with 131031 after a lift by hand ends when the restriction expires", () =>
  endsWithRestriction("expires", 131031));

test("a hold that a message sets with 368 after a lift by hand ends when the restriction is lifted by the provider", () =>
  endsWithRestriction("is lifted by the provider", 368));

test("a message that is refused shortly after a restriction has expired holds the number for five minutes, and an hour after it until the hold is lifted", async () => {
  const restricted = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const ended_at = await restrict(restricted);
  const at = (after_ms: number) => new Date(ended_at.getTime() + after_ms);
  api.clock.set(ended_at);
  await endRestrictions();
  assert.deepEqual(await endsOf(restricted), []);
  await refuseMessage(restricted, 131031);
  assert.deepEqual(await endsOf(restricted), [at(300_000)]);
  api.clock.set(at(300_000));
  await endRestrictions();
  assert.deepEqual(await endsOf(restricted), []);
  api.clock.set(at(3_601_000));
  await refuseMessage(restricted, 131031);
  assert.deepEqual(await endsOf(restricted), [null]);
});

/** Restricts the business account of the number for an hour, and returns the end. */
async function restrict(of: TestChatNumber): Promise<Date> {
  const expiration = Math.floor(api.clock.now().getTime() / 1_000) + 3_600;
  const restriction_info = [{ restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING", expiration }];
  const value = { event: "ACCOUNT_RESTRICTION", restriction_info };
  await takeAndApply(changeHook(of, "account_update", value));
  return new Date(expiration * 1_000);
}

async function liftByHand(of: TestChatNumber): Promise<void> {
  const json = { scope: "number", subject_id: of.id, reason: "sender_restricted" };
  const { status } = await api.send("POST", "/api/v1/chat/holds/lift", {
    token: account.token,
    json,
  });
  assert.equal(status, 204);
}

async function endRestrictions(): Promise<void> {
  const handlers = { "chat.end_restriction": endExpiredRestriction };
  await workJobs(api.app, handlers, new AbortController().signal);
}

async function endsOf(of: TestChatNumber): Promise<(Date | null)[]> {
  const holds = await api.app.db.query
    .selectFrom("chat_holds")
    .select("ends_at")
    .where("account_id", "=", account.account_id)
    .where("subject_id", "=", of.id)
    .execute();
  return holds.map(({ ends_at }) => ends_at);
}

/** Applies the effects of a message of the number that the provider refused with the code. */
async function refuseMessage(from: TestChatNumber, code: number): Promise<void> {
  const error = new ChatSendError("rejected", "no", { code });
  const action = decideAction(error, { error: null, attempts: 0 }, 0);
  const message = {
    campaign_id: null,
    template_id: null,
    chat_number_id: from.id,
    phone: "",
    code,
  };
  const now = api.clock.now();
  const { account_id } = account;
  for (const effect of failureEffects(message, action, now))
    await api.app.db.query
      .transaction()
      .execute((tx) => applyFailureEffect(tx, account_id, effect, now));
}

test("an event about a number has the numbers of its business account fetched", async () => {
  const changed = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const value = { display_phone_number: "15550783881", event: "THROUGHPUT_UPGRADE" };
  await takeAndApply(changeHook(changed, "phone_number_quality_update", value));
  const jobs = await api.app.db.query
    .deleteFrom("jobs")
    .where("account_id", "=", account.account_id)
    .where("kind", "=", "chat.sync_templates")
    .returning("subject")
    .execute();
  assert.deepEqual(jobs, [{ subject: `whatsapp:${changed.business_account_id}` }]);
  assert.deepEqual(await inbox(), []);
});

test("a number that is added during a restriction of its business account is held until the restriction expires", async () => {
  const restricted = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const { business_account_id } = await api.app.db.query
    .selectFrom("chat_numbers")
    .select("business_account_id")
    .where("account_id", "=", account.account_id)
    .where("id", "=", restricted.id)
    .executeTakeFirstOrThrow();
  const expiration = Math.floor(api.clock.now().getTime() / 1_000) + 3_600;
  const restriction_info = [{ restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING", expiration }];
  const value = { event: "ACCOUNT_RESTRICTION", restriction_info };
  await takeAndApply(changeHook(restricted, "account_update", value));
  const provider_phone_number_id = unique("number");
  const { account_id } = account;
  const actor = { account_id, user_id: null, token_id: null, request_id: "req_test" };
  const ids = { provider_phone_number_id, business_account_id };
  const added = {
    name: unique("number"),
    phone_number: "+919812345678",
    driver: "whatsapp",
  } as const;
  const { id } = await api.app.db.query
    .transaction()
    .execute((tx) => createChatNumber(tx, actor, { ...added, ...ids }, api.clock.now()));
  // Other tests of this file compare these jobs.
  await api.app.db.query
    .deleteFrom("jobs")
    .where("account_id", "=", account_id)
    .where("kind", "=", "chat.sync_templates")
    .execute();
  await refuseMessage({ ...restricted, id }, 131031);
  const holds = () =>
    api.app.db.query
      .selectFrom("chat_holds")
      .select("ends_at")
      .where("account_id", "=", account.account_id)
      .where("subject_id", "=", id)
      .execute();
  assert.deepEqual(await holds(), [{ ends_at: new Date(expiration * 1_000) }]);
  api.clock.advance(3_600_000);
  const handlers = { "chat.end_restriction": endExpiredRestriction };
  await workJobs(api.app, handlers, new AbortController().signal);
  assert.deepEqual(await holds(), []);
});

test("a template event is stored; PAUSED holds the template's campaigns, APPROVED and an edit have its content fetched", async () => {
  const provider_template_id = unique("90001");
  const id = await makeChatTemplate(api.app, account, number, {
    driver: "whatsapp",
    provider_template_id,
  });
  const templateOf = () =>
    api.app.db.query
      .selectFrom("chat_templates")
      .select(["status", "quality", "category", "rejection_reason"])
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
  const holds = () =>
    api.app.db.query
      .selectFrom("chat_holds")
      .select("reason")
      .where("account_id", "=", account.account_id)
      .where("scope", "=", "template")
      .where("subject_id", "=", id)
      .execute();
  const post = (field: string, value: object) =>
    takeAndApply(
      changeHook(number, field, { message_template_id: provider_template_id, ...value }),
    );
  await post("message_template_status_update", { event: "PAUSED", reason: "LOW_QUALITY" });
  await post("message_template_quality_update", { new_quality_score: "RED" });
  await post("template_category_update", { new_category: "MARKETING" });
  assert.deepEqual(await templateOf(), {
    status: "PAUSED",
    quality: "RED",
    category: "MARKETING",
    rejection_reason: "LOW_QUALITY",
  });
  assert.deepEqual(await holds(), [{ reason: "template_paused" }]);
  const jobs = () =>
    api.app.db.query
      .deleteFrom("jobs")
      .where("account_id", "=", account.account_id)
      .where("kind", "=", "chat.sync_templates")
      .returning("subject")
      .execute();
  const subject = `whatsapp:${number.business_account_id}`;
  assert.deepEqual(await jobs(), [{ subject }]);
  await post("message_template_status_update", { event: "APPROVED", reason: "NONE" });
  assert.equal((await templateOf()).status, "APPROVED");
  assert.deepEqual(await jobs(), [{ subject }]);
  await post("message_template_components_update", { message_template_element: "Hello {{1}}" });
  assert.deepEqual(await jobs(), [{ subject }]);
  assert.deepEqual(await holds(), [{ reason: "template_paused" }]);
  assert.deepEqual(await inbox(), []);
});
