import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { checkCampaigns, checkLedger } from "../../../test/support/check-invariants.ts";
import { makeAccount, makeCredits } from "../../../test/support/account-factory.ts";
import { moveRecipients } from "../recipients/move-recipients.ts";
import type { RecipientState } from "../recipients/recipient-states.ts";
import { failCampaign } from "./fail-campaign.ts";
import { drainCampaign } from "./drain-campaign.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("a stop, and others' jobs, wait for a part of a large campaign's end, and the next run does the rest", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  const { account_id } = account;
  await makeCredits(app, account, { chat: 5_000 });
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const phones = Array.from({ length: 4_500 }, (_, i) => ({ phone: String(919_800_000_000 + i) }));
  const campaign = await makeChatCampaign(app, account, number, template, phones);
  const now = app.clock.now();
  await app.db.query
    .transaction()
    .execute((tx) => failCampaign(tx, account_id, campaign, "template_unusable", now));
  const open = async () => {
    const { count } = await app.db.query
      .selectFrom("chat_recipients")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("campaign_id", "=", campaign)
      .where("state", "=", "queued")
      .executeTakeFirstOrThrow();
    return count;
  };
  const job = { account_id, subject: String(campaign) };

  assert.ok((await drainCampaign(app, job, AbortSignal.abort()))?.again_at);
  assert.equal(await open(), 4_500);

  // Its time is over as soon as the first batch is done.
  assert.ok((await drainCampaign(app, job, new AbortController().signal, 1))?.again_at);
  assert.equal(await open(), 2_500);

  assert.equal(await drainCampaign(app, job, new AbortController().signal), undefined);
  assert.equal(await open(), 0);
  await checkCampaigns(app.db.pool);
  await checkLedger(app.db.pool);
});

test("a message whose outcome is unknown when the campaign ends, and that returns to the queue, is drained", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  const { account_id } = account;
  await makeCredits(app, account, { chat: 1 });
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const people = [{ phone: "919800000000" }];
  const campaign_id = await makeChatCampaign(app, account, number, template, people);
  const now = app.clock.now();
  const { id } = await app.db.query
    .selectFrom("chat_recipients")
    .select("id")
    .where("account_id", "=", account_id)
    .executeTakeFirstOrThrow();
  const move = async (state: RecipientState, dispatches: number) => {
    const moves = [{ campaign_id, id, dispatches, state, due_at: now }];
    assert.equal((await moveRecipients(app.db.pool, account_id, moves, now)).length, 1, state);
  };
  await move("dispatching", 0);
  await move("unknown", 1);
  await app.db.query
    .transaction()
    .execute((tx) => failCampaign(tx, account_id, campaign_id, "template_unusable", now));
  const job = { account_id, subject: String(campaign_id) };
  const drain = () => drainCampaign(app, job, new AbortController().signal);
  const looks_again = await drain();
  assert.ok(looks_again && looks_again.again_at > now);
  // Its sender, which had lost its lease, writes that it has not sent it.
  await move("deferred", 1);
  assert.equal(await drain(), undefined);
  const { rows } = await app.db.pool.query(
    "select state, finished_at is not null as is_over from chat_campaigns where account_id = $1",
    [account_id],
  );
  assert.deepEqual(rows, [{ state: "failed", is_over: true }]);
});
