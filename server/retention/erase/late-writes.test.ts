// What is written about a person while the erasure passes, or again after it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { startApi, type Answer, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { relay } from "../../../test/support/callback-factory.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { changeHook, openTestWhatsapp } from "../../../test/support/chat-webhooks.ts";
import { identityTraces, wamid } from "../../../test/support/identity-traces.ts";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { setCalling } from "../../../test/support/telephony-factory.ts";
import { addAttempt } from "../../calls/controls/add-attempt.ts";
import { applyWebhooks } from "../../chat/inbound/apply-webhooks.ts";
import { addJob } from "../../engine/add-job.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { erasePerson } from "../erase-person.ts";

const number = "9876543210";
const phone = `91${number}`;

let api: TestApi;
let owner: TestAccount;
before(async () => {
  api = await startApi({ chatDrivers: { whatsapp: openTestWhatsapp() } });
  api.clock.set("2026-03-01T10:00:00Z");
});
after(() => api.close());

async function newOwner(): Promise<void> {
  owner = await makeAccount(api.app);
  await setCalling(api.app, owner, { night_calling: true });
  await makeCredits(api.app, owner, { call: 100, chat: 100 });
}

const send = (method: string, path: string, json: unknown, headers = {}): Promise<Answer> =>
  api.send(method, path, { token: owner.token, json, headers });

/** Requests the erasure; returns a function that runs its jobs that are due and returns its state. */
async function erase(): Promise<() => Promise<string>> {
  const asked = await send("POST", "/api/v1/erasures", { phone_number: number });
  assert.ok(asked.status < 300, asked.text);
  // An erasure waits until all events are relayed.
  await relay(api.app);
  return async () => {
    const { signal } = new AbortController();
    while ((await workJobs(api.app, { "retention.erase_person": erasePerson }, signal)) > 0);
    const path = `/api/v1/erasures/${asked.body.id}`;
    return (await api.send("GET", path, { token: owner.token })).body.state;
  };
}

const rows = async (text: string) =>
  (await api.app.db.pool.query(text, [owner.account_id])).rows as Record<string, unknown>[];

test("an attempt that is queued while the call before it is erased is cancelled and erased too", async () => {
  await newOwner();
  const { app } = api;
  const { account_id } = owner;
  const asked = { max_retry: 1 };
  const { id } = await makeCall(app, owner, { asked, call: { stage: "ended", to_phone: phone } });
  const run = await erase();
  const { running } = await app.db.query.transaction().execute(async (tx) => {
    await tx
      .selectFrom("accounts")
      .select("account_id")
      .where("account_id", "=", account_id)
      .forUpdate()
      .execute();
    const waiting = run();
    await awaitsLock(app.db.query);
    const { campaign_id } = await app.db.query
      .selectFrom("calls")
      .select("campaign_id")
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    const due_at = new Date(api.clock.now().getTime() + 600_000);
    const retry = { account_id, campaign_id, retried_leg: null, due_at };
    await app.db.query.transaction().execute((other) => addAttempt(other, retry, api.clock.now()));
    return { running: waiting };
  });
  await running;
  await relay(app);
  api.clock.advance(60_000);
  assert.equal(await run(), "done");
  assert.deepEqual(
    await rows("select stage, to_phone from calls where account_id = $1 order by attempt"),
    [
      { stage: "ended", to_phone: "" },
      { stage: "ended", to_phone: "" },
    ],
  );
});

test("stored answers to changes of a lead and its contact are deleted with them", async () => {
  await newOwner();
  const leads = `/api/v1/crm/workspaces/${owner.workspace_id}/leads`;
  const lead = await send("POST", `${leads}/create`, { name: "Asha", phone: number });
  assert.equal(lead.status, 201, lead.text);
  const contacts = leads.replace(/leads$/, "contacts");
  const keys = [unique("key"), unique("key")];
  const changed = [
    await send(
      "PATCH",
      `${leads}/${lead.body.id}`,
      { name: "Zed" },
      { "idempotency-key": keys[0] },
    ),
    await send(
      "PATCH",
      `${contacts}/${lead.body.contactId}`,
      { name: "Zed" },
      { "idempotency-key": keys[1] },
    ),
  ];
  for (const { status, text } of changed) assert.equal(status, 200, text);
  const stored =
    "select endpoint from idempotency_keys where account_id = $1 and response like '%Zed%'";
  assert.equal((await rows(stored)).length, 2);
  const run = await erase();
  assert.equal(await run(), "done");
  assert.deepEqual(await rows(stored), []);
});

test("a stored answer to a note is deleted with the note's lead, and those of other leads' notes stay", async () => {
  await newOwner();
  const leads = `/api/v1/crm/workspaces/${owner.workspace_id}/leads`;
  for (const whose of [number, "9876500000"]) {
    const lead = await send("POST", `${leads}/create`, { name: "Asha", phone: whose });
    assert.equal(lead.status, 201, lead.text);
    for (const text of [`Owes rent, said ${whose}'s neighbour`, "Owes rent"]) {
      const headers = { "idempotency-key": unique("key") };
      const added = await send("POST", `${leads}/${lead.body.id}/notes`, { text }, headers);
      assert.equal(added.status, 201, added.text);
    }
  }
  const run = await erase();
  assert.equal(await run(), "done");
  const stored = `select response::json #>> '{data,text}' as text from idempotency_keys
    where account_id = $1 and endpoint = 'addLeadNote' order by text`;
  assert.deepEqual(await rows(stored), [
    { text: "Owes rent" },
    { text: "Owes rent, said 9876500000's neighbour" },
  ]);
});

test("a stored call record stays without what the call recorded of the person", async () => {
  await newOwner();
  const { account_id } = owner;
  const { db, clock } = api.app;
  const asked = { remark: "Owes rent", reference: "ref-7", source: "debts" };
  const pressed = { dtmf: "1234", collected: JSON.stringify({ pin: "1234" }) };
  const placed = { account_id, at: clock.now() };
  const hangUp = async (to: Record<string, string>) => {
    const { id } = await makeCall(api.app, owner, { asked, call: { ...pressed, ...to } });
    const said = { ...placed, call_id: id, who: "caller", text: "I moved out" };
    await db.query.insertInto("call_transcripts").values(said).execute();
    for (const key of ["1234", "timeout", null]) {
      const step = { ...placed, call_id: id, campaign_id: 1, recipient_id: 1, node: "pin", key };
      await db.query.insertInto("call_menu_steps").values(step).execute();
    }
    const headers = { "idempotency-key": unique("key") };
    const ended = await send("POST", `/api/v1/calls/${id}/hangup`, undefined, headers);
    assert.equal(ended.status, 200, ended.text);
    return ended.body;
  };
  const theirs = await hangUp({});
  const other = await hangUp({ to_number: "9876500000", to_phone: "919876500000" });
  const run = await erase();
  assert.equal(await run(), "done");
  const stored = `select response::json as record from idempotency_keys
    where account_id = $1 and endpoint = 'hangUpCall' order by read_id(response::json, 'call_id')`;
  const at = placed.at.toISOString();
  const steps = ["erased", "timeout", null].map((key) => ({ node: "pin", key, at }));
  const nothing = { remark: null, reference: null, source: null, transcript: null };
  const kept = { to_number: "", dtmf: "", collected: {}, menu_path: steps, ...nothing };
  assert.deepEqual(await rows(stored), [{ record: { ...theirs, ...kept } }, { record: other }]);
  assert.deepEqual([theirs.remark, theirs.dtmf], ["Owes rent", "1234"]);
});

test("an erasure waits for a running job that knows the number, and deletes it if it is to run again", async () => {
  await newOwner();
  const { app } = api;
  const { account_id } = owner;
  const now = api.clock.now();
  const payload = { phone, called_number: "9000000001", at: now.toISOString() };
  const job = { account_id, kind: "crm.record_missed_call", subject: "call:1" } as const;
  await addJob(app.db.query, { ...job, run_at: now, payload }, now);
  await app.db.pool.query(
    "update jobs set lease_until = now() + interval '1 hour' where account_id = $1 and kind = $2",
    [account_id, job.kind],
  );
  const run = await erase();
  assert.notEqual(await run(), "done");
  await app.db.pool.query(
    "update jobs set lease_until = null where account_id = $1 and kind = $2",
    [account_id, job.kind],
  );
  api.clock.advance(3_000);
  assert.equal(await run(), "done");
  assert.deepEqual(await rows("select kind from jobs where account_id = $1"), []);
});

/** Runs the erasure while another transaction, which ends once the erasure waits for it, makes the change. */
async function eraseBeside(change: string): Promise<string> {
  const { query } = api.app.db;
  const run = await erase();
  const { running } = await query.transaction().execute(async (tx) => {
    await sql.raw(change).execute(tx);
    const waiting = run();
    await awaitsLock(query);
    return { running: waiting };
  });
  return running;
}

test("replies beyond a full batch are erased although retention deletes one of the batch at that moment", async () => {
  await newOwner();
  const { account_id } = owner;
  await api.app.db.pool.query(
    `insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, type, text, opted_out, received_at)
     select $1, 1, $2 || n, $3, 'text', 'I am Asha', false, $4 from generate_series(1, 501) n`,
    [account_id, unique("wamid."), phone, api.clock.now()],
  );
  const first = `select min(id) from chat_replies where account_id = ${account_id}`;
  assert.equal(
    await eraseBeside(
      `delete from chat_replies where account_id = ${account_id} and id = (${first})`,
    ),
    "done",
  );
  const left =
    "select phone, text, count(*)::int from chat_replies where account_id = $1 group by 1, 2";
  assert.deepEqual(await rows(left), [{ phone: "", text: null, count: 500 }]);
});

test("groups beyond a full batch lose the person although somebody removes them from one of the batch at that moment", async () => {
  await newOwner();
  const { account_id } = owner;
  const values = [account_id, unique("group"), phone, api.clock.now()];
  await api.app.db.pool.query(
    `with made as (
       insert into groups (account_id, name, members_count, created_at, updated_at)
       select $1, $2 || n, 1, $4, $4 from generate_series(1, 501) n returning id
     )
     insert into group_members (account_id, group_id, phone_key, phone, name, created_at)
     select $1, m.id, $3, $3, 'Asha', $4 from made m`,
    values,
  );
  const first = `select min(id) from groups where account_id = ${account_id}`;
  assert.equal(
    await eraseBeside(
      `with emptied as (
         update groups set members_count = 0 where account_id = ${account_id} and id = (${first}) returning id
       )
       delete from group_members where account_id = ${account_id} and group_id = (select id from emptied)`,
    ),
    "done",
  );
  assert.deepEqual(await rows("select phone from group_members where account_id = $1"), []);
  const counted = "select id from groups where account_id = $1 and members_count <> 0";
  assert.deepEqual(await rows(counted), []);
});

/** Sends the person a message; returns its ID at the provider, and the number that sent it. */
async function sendMessage() {
  const { app, clock } = api;
  const chat_number = await makeChatNumber(app, owner, { driver: "whatsapp" });
  const template_id = await makeChatTemplate(app, owner, chat_number, { driver: "whatsapp" });
  const campaign_id = await makeChatCampaign(app, owner, chat_number, template_id, [{ phone }]);
  const [recipient] = await rows("select id from chat_recipients where account_id = $1");
  const provider_message_id = wamid(phone, unique("message"));
  for (const [dispatches, state] of ["dispatching", "sent"].entries()) {
    const sent = state === "sent" ? { provider_message_id } : {};
    const move = { campaign_id, id: recipient!["id"], dispatches, state, ...sent };
    await app.db.pool.query("select from chat_move_recipients_json($1, 'inbound', $2, $3)", [
      owner.account_id,
      JSON.stringify([move]),
      clock.now(),
    ]);
  }
  return { chat_number, provider_message_id };
}

async function assertStoredOnce(body: string): Promise<void> {
  await newOwner();
  const { chat_number, provider_message_id } = await sendMessage();
  const bsuid = "IN.REPEATED1";
  const timestamp = String(api.clock.now().getTime() / 1_000);
  const hook = changeHook(chat_number, "messages", {
    messaging_product: "whatsapp",
    metadata: { phone_number_id: chat_number.provider_phone_number_id },
    contacts: [{ wa_id: phone, user_id: bsuid }],
    messages: [
      {
        id: wamid(phone, unique("reply")),
        from: phone,
        from_user_id: bsuid,
        timestamp,
        type: "text",
        text: { body },
        context: { id: provider_message_id },
      },
    ],
    // Of an unknown message, for which the webhook is kept and applied again.
    statuses: [{ id: unique("wamid"), status: "sent", timestamp, recipient_id: phone }],
  });
  const take = () => api.app.webhookReceiver.take("whatsapp", hook);
  const apply = () => applyWebhooks(api.app, new AbortController().signal);
  const stored = async () => ({
    traces: await identityTraces(api.app.db.pool, phone, [bsuid]),
    replies: await rows("select phone, bsuid, text from chat_replies where account_id = $1"),
    counts: await rows(
      "select replies, opt_outs from chat_report_counts where account_id = $1 and replies > 0",
    ),
    events: await rows("select type from events where account_id = $1 order by id"),
  });
  await take();
  await apply();
  const recorded = await stored();
  assert.deepEqual(recorded.replies, [{ phone, bsuid, text: body }]);
  assert.equal(recorded.counts.length, 1);
  const run = await erase();
  await run();
  // The campaign has recorded its completion.
  await relay(api.app);
  api.clock.advance(3_000);
  assert.equal(await run(), "done");
  const { traces, replies, ...rest } = await stored();
  assert.deepEqual(replies, [{ phone: "", bsuid: null, text: null }]);
  const { "chat_inbox.body": kept, ...erased } = traces;
  assert.equal(kept, 1);

  assert.equal(await apply(), 1);
  await take();
  assert.equal(await apply(), 1);
  api.clock.advance(660_000);
  assert.equal(await apply(), 2);
  assert.deepEqual(await stored(), { traces: erased, replies, ...rest });
}

for (const body of ["Asha here", "STOP"])
  test(`a webhook with the reply "${body}" that is applied again after the erasure stores nothing about the person`, () =>
    assertStoredOnce(body));
