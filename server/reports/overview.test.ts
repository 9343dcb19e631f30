// The overview of the day, and what waits for a person.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Value from "typebox/value";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { failed, makeCall } from "../../test/support/call-factory.ts";
import { makeEndpoint } from "../../test/support/callback-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-factory.ts";
import { makeVoiceCampaign } from "../../test/support/voice-factory.ts";
import { hold } from "../chat/holds/holds.ts";
import { moveRecipients } from "../chat/recipients/move-recipients.ts";
import type { RecipientState } from "../chat/recipients/recipient-states.ts";
import { Overview } from "./overview-schema.ts";

const midnight = new Date("2026-03-20T18:30:00Z");
const at = (minutes: number) => new Date(midnight.getTime() + minutes * 60_000);
const yesterday = at(-1);
const now = at(600);

let api: TestApi;
let account: TestAccount;
let other: TestAccount;
before(async () => {
  api = await startApi();
  api.clock.set(now);
  [account, other] = [await makeAccount(api.app), await makeAccount(api.app)];
  for (const { account_id } of [account, other])
    await api.app.db.query
      .updateTable("accounts")
      .set({ time_zone: "Asia/Kolkata" })
      .where("account_id", "=", account_id)
      .execute();
});
after(() => api.close());

async function overview(token = account.token) {
  const { status, body, text } = await api.send("GET", "/api/v1/overview", { token });
  assert.equal(status, 200, text);
  return body;
}

const nothing = {
  since: midnight.toISOString(),
  chat: { sent: 0, delivered: 0, failed: 0, replies: 0 },
  calls: { calls: 0, answered: 0, ended: 0, in_progress: 0 },
  credits: { chat: { available: 0, is_low: true }, call: { available: 0, is_low: true } },
  chat_holds: [],
  voice_holds: [],
  failing_callbacks: [],
  rejected_templates: [],
};

test("counts the messages, replies and calls since midnight in the account's time zone, and of no other account", async () => {
  const { app } = api;
  const { account_id } = account;
  assert.deepEqual(await overview(), nothing);
  await makeCredits(app, account, { chat: 1_000, call: 50 });
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const phones = ["919800000001", "919800000002", "919800000003"];
  const campaign_id = await makeChatCampaign(
    app,
    account,
    number,
    template,
    phones.map((phone) => ({ phone })),
  );
  const recipients = await app.db.query
    .selectFrom("chat_recipients")
    .select("id")
    .where("account_id", "=", account_id)
    .orderBy("id")
    .execute();
  const move = async (index: number, time: Date, ...states: RecipientState[]) => {
    for (const state of states) {
      const dispatches = state === "dispatching" ? 0 : 1;
      const moves = [{ campaign_id, id: recipients[index]!.id, dispatches, state }];
      assert.equal((await moveRecipients(app.db.pool, account_id, moves, time)).length, 1, state);
    }
  };
  await move(0, yesterday, "dispatching", "accepted");
  await move(1, at(0), "dispatching", "accepted", "delivered");
  await move(2, at(1), "dispatching", "refused");
  for (const received_at of [yesterday, at(0)])
    await app.db.query
      .insertInto("chat_replies")
      .values({
        account_id,
        chat_number_id: number.id,
        provider_message_id: received_at.toISOString(),
        phone: phones[0]!,
        type: "text",
        text: "Yes",
        opted_out: false,
        received_at,
      })
      .execute();
  const answered = {
    stage: "ended",
    status: "completed",
    disposition: "answered",
    ended_reason: "hung_up",
    answered_by: "human",
    answered_at: now,
  };
  await makeCall(app, account, { call: { ...answered, queued_at: yesterday } });
  await makeCall(app, account, { call: { ...answered, queued_at: at(0) } });
  await makeCall(app, account, { call: { ...failed, queued_at: at(1) } });
  await makeCall(app, account);
  const read = await overview();
  assert.deepEqual(read.chat, { sent: 1, delivered: 1, failed: 1, replies: 1 });
  assert.deepEqual(read.calls, { calls: 3, answered: 1, ended: 2, in_progress: 0 });
  assert.deepEqual(read.credits.chat, { available: 998, is_low: false });
  assert.deepEqual(read.credits.call, { available: 48, is_low: true });
  assert.deepEqual(await overview(other.token), nothing);
});

test("counts today's deliveries and failures of a campaign that finished days ago", async () => {
  const { app } = api;
  const owner = await makeAccount(app);
  const { account_id, token } = owner;
  await makeCredits(app, owner, { chat: 10 });
  const number = await makeChatNumber(app, owner);
  const template = await makeChatTemplate(app, owner, number);
  const to = [{ phone: "919800000011" }, { phone: "919800000012" }];
  const campaign_id = await makeChatCampaign(app, owner, number, template, to);
  const { rows } = await app.db.pool.query<{ id: number }>(
    "select id from chat_recipients where account_id = $1 order by id",
    [account_id],
  );
  const move = async (index: number, time: Date, states: readonly RecipientState[]) => {
    for (const state of states) {
      const dispatches = state === "dispatching" ? 0 : 1;
      const moves = [{ campaign_id, id: rows[index]!.id, dispatches, state }];
      assert.equal((await moveRecipients(app.db.pool, account_id, moves, time)).length, 1, state);
    }
  };
  const finished_at = at(-10 * 1_440);
  for (const index of [0, 1]) await move(index, finished_at, ["dispatching", "accepted"]);
  await app.db.query
    .updateTable("chat_campaigns")
    .set({ state: "completed", finished_at })
    .where("account_id", "=", account_id)
    .execute();
  await move(0, at(500), ["delivered"]);
  await move(1, at(501), ["undelivered"]);
  const { chat } = await overview(token);
  assert.deepEqual(chat, { sent: 0, delivered: 1, failed: 1, replies: 0 });
});

test("lists what waits for a person, and not what ends by itself or was done by a person", async () => {
  const { app } = api;
  const { account_id } = account;
  const number = await makeChatNumber(app, account);
  const template_id = await makeChatTemplate(app, account, number, { status: "REJECTED" });
  const paused = await makeChatTemplate(app, account, number, { status: "PAUSED" });
  const sending = await makeChatTemplate(app, account, number);
  const campaign = await makeChatCampaign(app, account, number, sending, [
    { phone: "919811111111" },
  ]);
  await app.db.query.transaction().execute(async (tx) => {
    const failing = { scope: "campaign", subject_id: campaign, reason: "error_threshold" } as const;
    await hold(tx, { account_id, ...failing, detail: null }, now);
    const throttled = { scope: "number", subject_id: number.id, reason: "throttled" } as const;
    await hold(tx, { account_id, ...throttled, detail: null, ends_at: at(700) }, now);
    for (const subject_id of [template_id, paused]) {
      const held = { scope: "template", subject_id, reason: "template_paused" } as const;
      await hold(tx, { account_id, ...held, detail: null }, at(-1));
    }
  });
  const voice = await makeVoiceCampaign(app, account);
  const ended = await makeVoiceCampaign(app, account, { campaign: { finished_at: now } });
  for (const campaign_id of [voice.id, ended.id])
    await app.db.query
      .insertInto("voice_holds")
      .values({ account_id, campaign_id, reason: "credit", set_at: now })
      .execute();
  const failing = await makeEndpoint(app, account);
  await makeEndpoint(app, account);
  await makeEndpoint(app, account, { enabled: false });
  const gone = { enabled: false, disabled_reason: "failing", deleted_at: now };
  await makeEndpoint(app, account, gone);
  await app.db.query
    .updateTable("callback_endpoints")
    .set({ failing_since: now })
    .where("account_id", "=", account_id)
    .where("id", "=", failing.id)
    .execute();
  const read = await overview();
  assert.deepEqual(
    read.chat_holds.map(({ scope, subject_id, reason }: Record<string, unknown>) => [
      scope,
      subject_id,
      reason,
    ]),
    [
      ["campaign", campaign, "error_threshold"],
      ["template", paused, "template_paused"],
    ],
  );
  assert.equal(read.chat_holds[0].name, "Test campaign");
  assert.deepEqual(
    read.voice_holds.map(({ campaign_id }: { campaign_id: number }) => campaign_id),
    [voice.id],
  );
  assert.deepEqual(read.failing_callbacks, [
    { id: failing.id, url: failing.url, disabled_reason: null, failing_since: now.toISOString() },
  ]);
  assert.deepEqual(
    read.rejected_templates.map(({ id }: { id: number }) => id),
    [template_id],
  );
  assert.deepEqual(await overview(other.token), nothing);
});

test("shows a held voice campaign with every reason that it may have, as the API document describes it", async () => {
  const { app } = api;
  const held = await makeAccount(app);
  const { account_id } = held;
  const { id: campaign_id } = await makeVoiceCampaign(app, held);
  const reasons = ["trunk", "error_threshold", "credit", "manual"];
  for (const reason of reasons)
    await app.db.query
      .insertInto("voice_holds")
      .values({ account_id, campaign_id, reason, set_at: now })
      .execute();
  const read = await overview(held.token);
  const shown = read.voice_holds.map(({ reason }: { reason: string }) => reason);
  assert.deepEqual(shown.toSorted(), reasons.toSorted());
  assert.deepEqual([...Value.Errors(Overview, read)], []);
});

test("shows a user only the parts that their permissions cover", async () => {
  const token = await makeAgentToken(api.app, account, ["credits.read"]);
  const { since, credits, ...others } = await overview(token);
  assert.equal(since, midnight.toISOString());
  assert.equal(credits.chat.available > 0, true);
  assert.deepEqual(new Set(Object.values(others)), new Set([null]));
});
