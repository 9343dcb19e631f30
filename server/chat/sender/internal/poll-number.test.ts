// A poll queries the database while messages finish: it must never return a sent message to the
// queue.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pool } from "pg";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../../test/support/chat-factory.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { makeAccount, makeCredits } from "../../../../test/support/account-factory.ts";
import type { ChatDriver } from "../../../drivers/chat/driver.ts";
import { acquireLease } from "../../../engine/leases.ts";
import { default_settings } from "../../../worker.ts";
import { openDispatch } from "./dispatch.ts";
import type { Sender } from "./sender.ts";
import { findSenderNumber, recordAndMark } from "./sender-statements.ts";
import { openSenders } from "../send-campaigns.ts";
import { recoverDispatching, pollNumber } from "./poll-number.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("a message accepted during a poll is not returned to the queue, nor is any after the lease has expired", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 10 });
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const phones = [{ phone: "919800000001" }, { phone: "919800000002" }];
  const campaign_id = await makeChatCampaign(app, account, number, template, phones);
  const lease = await acquireLease(app, account.account_id, `chat_sender:${number.id}`);
  const accepted = Promise.withResolvers<{ provider_message_id: string }>();
  const driver = { send: () => accepted.promise } as unknown as ChatDriver;
  const recorded = Promise.withResolvers<void>();
  const sender: Sender = {
    // The provider answers while this statement is on its way.
    app: {
      ...app,
      chatDrivers: { sandbox: driver },
      db: { ...app.db, pool: beforeEach(app.db.pool, /state = 'dispatching'/, answer) },
    },
    lease: lease!,
    number_id: number.id,
    settings: default_settings,
    results: [],
    effects: [],
    campaigns: new Map(),
    ended_lately: 0,
    number: await findSenderNumber(app, account.account_id, number.id),
    driver,
    wake: () => recorded.resolve(),
  };
  async function answer() {
    accepted.resolve({ provider_message_id: "wamid.1" });
    await recorded.promise;
  }
  const dispatch = openDispatch(sender, () => {});
  await pollNumber(sender, dispatch);
  const holder = { account_id: account.account_id, number_id: number.id, fence: lease!.fence };
  const { marked } = await recordAndMark(app, holder, [], { campaign_id, take: 2, after: 0 });
  // The first is in flight; for the second, the response of the marking statement was lost.
  const [first, second] = marked;
  dispatch.start([first!], performance.now());
  await pollNumber(sender, dispatch);
  const states = sender.results.map(({ id, state }) => ({ id, state }));
  assert.deepEqual(states, [
    { id: first!.id, state: "accepted" },
    { id: second!.id, state: "deferred" },
  ]);

  const late = { ...sender, lease: { ...lease!, mayProceed: () => false }, results: [] };
  await pollNumber(
    late,
    openDispatch(late, () => {}),
  );
  await recoverDispatching(late);
  assert.deepEqual(late.results, [], "they may be another's by now");
  await lease!.release();
});

test("a campaign that violates an invariant stops no other campaign of its number", async (t) => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 10 });
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const make = (phone: string) => makeChatCampaign(app, account, number, template, [{ phone }]);
  const broken = await make("919800000003");
  // All of it has ended, and its credit was neither captured nor released.
  await app.db.query
    .updateTable("chat_counts")
    .set({ queued: 0, cancelled: 1 })
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", broken)
    .execute();
  const sound = await make("919800000004");
  const driver = { send: async () => ({ provider_message_id: "wamid.4" }) };
  const senders = openSenders(
    { ...app, chatDrivers: { sandbox: driver as unknown as ChatDriver } },
    default_settings,
  );
  t.after(() => senders.stop());
  await senders.startDue();
  const stateOf = async (id: number) => {
    const { state } = await app.db.query
      .selectFrom("chat_campaigns")
      .select("state")
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    return state;
  };
  await eventually(async () => (await stateOf(sound)) === "completed");
  assert.equal(await stateOf(broken), "running");
});

/** The pool, with something done before each statement of a form. */
function beforeEach(pool: Pool, form: RegExp, run: () => Promise<void>): Pool {
  const query = async (config: { text: string }) => {
    if (form.test(config.text)) await run();
    return pool.query(config);
  };
  return new Proxy(pool, {
    get: (of, name) => (name === "query" ? query : (Reflect.get(of, name) as unknown)),
  });
}
