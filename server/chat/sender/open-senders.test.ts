import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  openChatFixture,
  startChatFixtureApi,
  takeMessage,
  type ChatFixtureApi,
  type TestProvider,
} from "../../../test/support/chat-fixture.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
} from "../../../test/support/chat-factory.ts";
import { stub_number } from "../../../test/support/provider-stub/settings.ts";
import { startProviderStub } from "../../../test/support/provider-stub/start-provider-stub.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { setAccountFeatures } from "../../accounts/accounts/set-account-features.ts";
import type { Feature } from "../../accounts/permissions.ts";
import { linkBsuids } from "../../audience/suppressions/link-bsuids.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { acquireLease } from "../../engine/leases.ts";
import { openMetaDriver } from "../../drivers/chat/meta/open-meta-driver.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { default_settings } from "../../worker.ts";
import { failCampaign } from "../campaigns/fail-campaign.ts";
import { hold, liftHold } from "../holds/holds.ts";
import { setTemplateStatus } from "../templates/set-template-status.ts";
import { openSenders } from "./open-senders.ts";
import { endThrottling } from "../numbers/end-throttling.ts";
import { repeatSkipDuplicates } from "../campaigns/skip-duplicate-people.ts";
import { settleUnknown } from "../campaigns/settle-unknown.ts";
import { drainCampaign } from "../campaigns/drain-campaign.ts";
import { wakeCampaigns } from "../campaigns/wake-campaigns.ts";
import { recordAliases } from "../messages/phone-alias.ts";

let shared: ChatFixtureApi;
let api: TestApi;
/** The provider of the running test's account. */
let provider: TestProvider;
before(async () => {
  shared = await startChatFixtureApi();
  api = shared.api;
});
after(() => api.close());

/** An account with a number, a template and 100,000 credits, and senders that stop after the test. */
async function open(
  t: { after(undo: () => Promise<void>): void },
  options?: Parameters<typeof openChatFixture>[2],
) {
  const fixture = await openChatFixture(t, shared, options);
  provider = fixture.provider;
  const senders = openSenders(api.app, default_settings);
  t.after(() => senders.stop());
  return { ...fixture, senders };
}

const stateOf = async (campaign: number) => {
  const { state } = await api.app.db.query
    .selectFrom("chat_campaigns")
    .select("state")
    .where("id", "=", campaign)
    .executeTakeFirstOrThrow();
  return state;
};
const completed = (campaign: number) =>
  eventually(async () => (await stateOf(campaign)) === "completed");
const recipientsOf = (campaign: number) =>
  api.app.db.query
    .selectFrom("chat_recipients")
    .selectAll()
    .where("campaign_id", "=", campaign)
    .orderBy("id")
    .execute();
const statesOf = async (campaign: number) => {
  const states: Record<string, number> = {};
  for (const { state } of await recipientsOf(campaign)) states[state] = (states[state] ?? 0) + 1;
  return states;
};
const available = async (account: TestAccount) => {
  const { available: credits } = await api.app.db.query
    .selectFrom("credit_balances")
    .select("available")
    .where("account_id", "=", account.account_id)
    .where("kind", "=", "chat")
    .executeTakeFirstOrThrow();
  return credits;
};
const rejected = (code: number) => async () => {
  throw new ChatSendError("rejected", "no", { code });
};
/** The counts of all slots together equal the recipients in each state. */
const checkCounts = async (campaign: number) => {
  const { rows } = await api.app.db.pool.query<Record<string, number>>(
    `select sum(queued)::int queued, sum(deferred)::int deferred, sum(dispatching)::int dispatching,
      sum(unknown)::int unknown, sum(unresolved)::int unresolved, sum(refused)::int refused,
      sum(accepted)::int accepted, sum(skipped)::int skipped, sum(cancelled)::int cancelled
     from chat_counts where campaign_id = $1`,
    [campaign],
  );
  const counted = Object.fromEntries(Object.entries(rows[0]!).filter(([, count]) => count !== 0));
  assert.deepEqual(counted, await statesOf(campaign));
};

test("every recipient is sent to once, recorded with its provider's id and charged, and the campaign completes", async (t) => {
  const { account, senders, campaign } = await open(t);
  const id = await campaign(300);
  await senders.startDue();
  await completed(id);
  const recipients = await recipientsOf(id);
  assert.equal(provider.sent.length, 300);
  assert.equal(new Set(provider.sent.map(({ outgoing }) => outgoing.to)).size, 300);
  for (const row of recipients) {
    assert.deepEqual([row.state, row.charged], ["accepted", true]);
    assert.match(row.provider_message_id!, /^wamid\.trk\./);
    assert.ok(row.dispatched_at! <= row.accepted_at!);
  }
  assert.equal(await available(account), 99_700);
  await checkCounts(id);
  await checkLedger(api.app.db.pool);
});

test("no second sees more than the number's rate and one portion of 50 ms", async (t) => {
  const { senders, campaign } = await open(t, { rate_per_second: 80 });
  const id = await campaign(200);
  await senders.startDue();
  await completed(id);
  const times = provider.sent.map(({ at }) => at);
  for (const [i, at] of times.entries()) {
    const within = times.slice(i).filter((other) => other < at + 985).length;
    // A busy machine's pause between decision and request brings a portion of the second before into it.
    assert.ok(within <= 80 + 2 * 4, `${within} messages within a second`);
  }
});

test("campaigns of one number alternate after a second's messages", async (t) => {
  const { senders, campaign } = await open(t, { rate_per_second: 40 });
  const ids = [await campaign(60), await campaign(60)];
  await senders.startDue();
  await Promise.all(ids.map((id) => completed(id)));
  const first = provider.sent.slice(0, 80).map(({ outgoing }) => outgoing.message_id.split(".")[2]);
  for (const id of ids) assert.ok(first.filter((of) => of === String(id)).length >= 30);
});

test("more numbers than batches that run at once send every message once", async (t) => {
  const { account, senders } = await open(t);
  const ids: number[] = [];
  for (let i = 0; i < 20; i++) {
    const number = await makeChatNumber(api.app, account);
    shared.providers.set(number.provider_phone_number_id, provider);
    const template_id = await makeChatTemplate(api.app, account, number);
    const recipients = Array.from({ length: 30 }, (_, n) => ({
      phone: String(919_800_000_000 + i * 100 + n),
    }));
    ids.push(await makeChatCampaign(api.app, account, number, template_id, recipients));
  }
  // As the poll does: a process starts no more senders than its share at once.
  await eventually(async () => {
    await senders.startDue();
    const states = await Promise.all(ids.map((id) => stateOf(id)));
    return states.every((state) => state === "completed");
  });
  assert.equal(provider.sent.length, 600);
  assert.equal(new Set(provider.sent.map(({ outgoing }) => outgoing.to)).size, 600);
  for (const id of ids) assert.deepEqual(await statesOf(id), { accepted: 30 });
  await checkLedger(api.app.db.pool);
});

/** Creates a number of the account that sends one message a second, and its campaign. */
const makeBusyNumber = async (account: TestAccount, recipients: number) => {
  const number = await makeChatNumber(api.app, account, { rate_per_second: 1 });
  shared.providers.set(number.provider_phone_number_id, provider);
  const template_id = await makeChatTemplate(api.app, account, number);
  const phones = Array.from({ length: recipients }, (_, n) => ({
    phone: String(919_800_000_000 + n),
  }));
  await makeChatCampaign(api.app, account, number, template_id, phones);
};
/** Opens senders with at most two for each account, and a list of the leases that they acquire for one. */
const openLimited = (
  t: { after(undo: () => Promise<void>): void },
  account: TestAccount,
  ms: number,
) => {
  const acquired: string[] = [];
  const { db } = api.app;
  const query = (config: { text: string; values: unknown[] }) => {
    const [account_id, name] = config.values;
    const isOurs = config.text.includes("acquire_lease") && account_id === account.account_id;
    if (isOurs) acquired.push(name as string);
    return db.pool.query(config);
  };
  const pool = new Proxy(db.pool, {
    get: (of, name) => (name === "query" ? query : (Reflect.get(of, name) as unknown)),
  });
  const limits = { account_workers: 2, account_worker_ms: ms };
  const app = { ...api.app, db: { ...db, pool } };
  const senders = openSenders(app, default_settings, undefined, limits);
  t.after(async () => {
    await senders.stop();
    // The other tests start what is due once, and these campaigns fill a page.
    await db.query
      .updateTable("chat_campaigns")
      .set({ work_at: new Date("2100-01-01") })
      .where("account_id", "=", account.account_id)
      .execute();
  });
  return { senders, acquired };
};

test("an account with more busy numbers than places delays no other account, not even one that has just sent", async (t) => {
  const other = await open(t);
  const first = await other.campaign(1);
  await other.senders.startDue();
  await completed(first);
  await other.senders.stop();
  const { account } = await open(t);
  // More than a page of candidates.
  for (let i = 0; i < 103; i++) await makeBusyNumber(account, 200);

  const second = await other.campaign(1);
  const { senders, acquired } = openLimited(t, account, 60_000);
  await senders.startDue();
  await completed(second);
  assert.equal(acquired.length, 2);
});

test("the numbers of an account with fewer places get a sender in the order in which they wait", async (t) => {
  const { account } = await open(t);
  for (let i = 0; i < 8; i++) await makeBusyNumber(account, 500);
  const { senders, acquired } = openLimited(t, account, 0);
  await eventually(async () => {
    await senders.startDue();
    assert.ok(senders.handlesOf(account.account_id).length <= 2);
    return acquired.length >= 8;
  });
  assert.equal(new Set(acquired.slice(0, 8)).size, 8);
});

test("a recipient without a value or default for a placeholder fails at dispatch, uncharged", async (t) => {
  const { account, senders, campaign } = await open(t, { variable_defaults: {} });
  const id = await campaign([
    { phone: "919800000001", variables: { "1": "Ann" } },
    { phone: "919800000002" },
  ]);
  await senders.startDue();
  await completed(id);
  const [ann, bob] = await recipientsOf(id);
  assert.deepEqual(
    [ann!.state, bob!.state, bob!.error],
    ["accepted", "refused", "missing_variable"],
  );
  assert.equal(provider.sent.length, 1);
  assert.equal(await available(account), 99_999);
});

test("a number that is suppressed after the campaign was made is skipped at dispatch, uncharged", async (t) => {
  const { account, senders, campaign } = await open(t);
  const phones = ["919800000000", "919800000001", "919800000002"];
  const id = await campaign(phones.map((phone) => ({ phone })));
  await makeSuppression(api.app, account, "919800000001", { channel: "all" });
  await senders.startDue();
  await completed(id);
  assert.deepEqual(await statesOf(id), { accepted: 2, skipped: 1 });
  assert.equal(await available(account), 99_998);
  await checkCounts(id);
});

test("a number that is suppressed in another spelling is skipped at dispatch", async (t) => {
  const { account, senders, campaign } = await open(t);
  const id = await campaign([{ phone: "5551987654321" }, { phone: "5215512345678" }]);
  await makeSuppression(api.app, account, "555187654321");
  await makeSuppression(api.app, account, "525512345678");
  await senders.startDue();
  await completed(id);
  assert.deepEqual(await statesOf(id), { skipped: 2 });
});

test("of two numbers that WhatsApp knows as one account, or its user ID, the second is skipped at dispatch, uncharged", async (t) => {
  const { account, senders, campaign } = await open(t);
  const { account_id } = account;
  const phones = ["919800000001", "919800000002", "919800000003", "447700900001", "919800000005"];
  const id = await campaign(phones.map((phone) => ({ phone })));
  const aliases = [
    { phone: "919800000001", wa_id: "447700900001" },
    { phone: "919800000002", wa_id: "447700900002" },
  ];
  await recordAliases(api.app.db.pool, account_id, aliases);
  const bsuid = unique("IN.");
  await api.app.db.pool.query(
    `update chat_recipients set phone = null, bsuid = $3
     where account_id = $1 and campaign_id = $2 and phone = '919800000005'`,
    [account_id, id, bsuid],
  );
  const links = [{ bsuid, phone: "447700900002" }];
  await api.app.db.query
    .transaction()
    .execute((tx) => linkBsuids(tx, account_id, links, api.clock.now()));
  await senders.startDue();
  await completed(id);
  const states = (await recipientsOf(id)).map(({ state, error }) => error ?? state);
  assert.deepEqual(states, ["accepted", "accepted", "accepted", "duplicate", "duplicate"]);
  assert.equal(await available(account), 99_997);
  await checkCounts(id);
});

test("a number is sent to if the other number of its WhatsApp account got no message in the campaign", async (t) => {
  const { account, senders, campaign } = await open(t);
  const [refused, listed] = ["919800000001", "447700900001"];
  const id = await campaign([{ phone: refused }, { phone: listed }]);
  provider.answer = async ({ to }) => {
    if (to === refused) throw new ChatSendError("rejected", "no", { code: 131026 });
    throw new ChatSendError("throttled", "slow down", { retry_after_ms: 10 });
  };
  await senders.startDue();
  await eventually(async () => (await recipientsOf(id))[0]!.state === "refused");
  await recordAliases(api.app.db.pool, account.account_id, [{ phone: refused, wa_id: listed }]);
  provider.answer = takeMessage;
  await completed(id);
  assert.deepEqual(await statesOf(id), { accepted: 1, refused: 1 });
});

test("a number is sent to in the batch after the one that refused the other number of its WhatsApp account", async (t) => {
  const { account, number, campaign } = await open(t);
  const { account_id } = account;
  const id = await campaign([{ phone: "919800000001" }, { phone: "447700900001" }]);
  await recordAliases(api.app.db.pool, account_id, [
    { phone: "919800000001", wa_id: "447700900001" },
  ]);
  const lease = (await acquireLease(api.app, account_id, `chat_sender:${number.id}`))!;
  const batch = async (results: readonly object[], after_id: number) => {
    const values = [account_id, number.id, lease.fence, JSON.stringify(results), id, 1, after_id];
    const { rows } = await api.app.db.pool.query<{ id: number; to_state: string }>(
      "select id, to_state, dispatches from record_and_claim_messages($1, $2, $3, $4, $5, $6, $7, $8)",
      [...values, api.clock.now()],
    );
    return rows[0]!;
  };
  const first = await batch([], 0);
  const { to_state: _, ...of } = first;
  const refused = { ...of, campaign_id: id, state: "refused", error: "rejected" };
  assert.equal((await batch([refused], first.id)).to_state, "dispatching");
  await lease.release();
});

test("a suppression of marketing skips a message unless its template has another category", async (t) => {
  const { account, number, senders, campaign } = await open(t);
  const phone = "919800000001";
  await makeSuppression(api.app, account, phone, { scope: "marketing" });
  const template_id = await makeChatTemplate(api.app, account, number, { category: "MARKETING" });
  const marketing = await makeChatCampaign(api.app, account, number, template_id, [{ phone }]);
  const utility = await campaign([{ phone }]);
  await senders.startDue();
  await Promise.all([completed(marketing), completed(utility)]);
  assert.deepEqual(await statesOf(marketing), { skipped: 1 });
  assert.deepEqual(await statesOf(utility), { accepted: 1 });
});

test("what a hold stops waits, and goes on when it is lifted", async (t) => {
  // So slow that the hold is set long before the last is sent, on any machine.
  const { account, number, senders, campaign } = await open(t, { rate_per_second: 20 });
  const id = await campaign(200);
  await senders.startDue();
  await eventually(() => provider.sent.length > 5);
  const { account_id } = account;
  const held = { account_id, scope: "campaign", subject_id: id, reason: "manual" } as const;
  await api.app.db.query
    .transaction()
    .execute(async (tx) => void (await hold(tx, { ...held, detail: null }, api.clock.now())));
  await senders.stop();
  assert.ok(provider.sent.length < 200);
  await api.app.db.query
    .transaction()
    .execute(async (tx) => void (await liftHold(tx, held, api.clock.now())));
  await api.app.db.query
    .updateTable("chat_numbers")
    .set({ rate_per_second: 1_000 })
    .where("account_id", "=", account_id)
    .where("id", "=", number.id)
    .execute();
  const next = openSenders(api.app, default_settings);
  t.after(() => next.stop());
  await next.startDue();
  await completed(id);
  assert.equal(provider.sent.length, 200);
  assert.equal(new Set(provider.sent.map(({ outgoing }) => outgoing.to)).size, 200);
});

test("a campaign that is paused while its last message is in flight completes without its hold", async (t) => {
  const { account, senders, campaign, ask } = await open(t);
  const answered = Promise.withResolvers<void>();
  provider.answer = async (outgoing) => {
    await answered.promise;
    return takeMessage(outgoing);
  };
  const id = await campaign(1);
  await senders.startDue();
  await eventually(() => provider.sent.length === 1);
  assert.equal((await ask("POST", `/${id}/pause`)).body.paused_reason, "manual");
  answered.resolve();
  await completed(id);
  const { body } = await api.send("GET", "/api/v1/overview", { token: account.token });
  assert.deepEqual(body.chat_holds, []);
});

test("an account that loses the feature bulk_chat sends no further message until it has it again", async (t) => {
  const { account, number, senders, campaign } = await open(t, { rate_per_second: 20 });
  const id = await campaign(60);
  await senders.startDue();
  await eventually(() => provider.sent.length > 5);
  const { account_id } = account;
  const actor = { account_id, user_id: null, token_id: null, request_id: "req_test" };
  const set = (features: readonly Feature[]) =>
    api.app.db.query
      .transaction()
      .execute((tx) => setAccountFeatures(tx, actor, features, api.clock.now()));
  await set(["crm"]);
  // The sender releases its lease, as for a held campaign.
  await eventually(() => senders.handlesOf(account_id).length === 0);
  const sent = provider.sent.length;
  assert.deepEqual(await statesOf(id), { accepted: sent, queued: 60 - sent });
  const lease = await acquireLease(api.app, account_id, `chat_sender:${number.id}`);
  const claimed = await api.app.db.pool.query(
    "select from record_and_claim_messages($1, $2, $3, '[]', $4, 10, 0, $5)",
    [account_id, number.id, lease!.fence, id, api.clock.now()],
  );
  assert.equal(claimed.rows.length, 0);
  await lease!.release();
  await set(["bulk_chat"]);
  const handlers = { "chat.wake_campaigns": wakeCampaigns };
  await workJobs(api.app, handlers, new AbortController().signal);
  await senders.startDue();
  await completed(id);
  assert.equal(provider.sent.length, 60);
});

test("a stop lets what is under way end and records it: nothing is unknown, nothing is sent again", async (t) => {
  const { senders, campaign } = await open(t);
  provider.answer = async (outgoing) => {
    await wait(50);
    return takeMessage(outgoing);
  };
  const id = await campaign(500);
  await senders.startDue();
  await eventually(() => provider.sent.length > 100);
  await senders.stop();
  const { accepted, ...others } = await statesOf(id);
  assert.equal(accepted, provider.sent.length);
  assert.ok(!("unknown" in others) && !("dispatching" in others), JSON.stringify(others));
  const next = openSenders(api.app, default_settings);
  t.after(() => next.stop());
  await next.startDue();
  await completed(id);
  assert.equal(new Set(provider.sent.map(({ outgoing }) => outgoing.to)).size, 500);
  assert.equal(provider.sent.length, 500);
});

test("a sender that lost its lease writes nothing, and what it knew is recorded by the next one", async (t) => {
  const { account, number, senders, campaign } = await open(t, { rate_per_second: 100 });
  const answers: (() => void)[] = [];
  provider.answer = async (outgoing) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answers.push(resolve);
    await promise;
    return takeMessage(outgoing);
  };
  const id = await campaign(50);
  await senders.startDue();
  await eventually(() => provider.sent.length > 3);
  // As if it had been frozen: somebody else has the lease.
  await api.app.db.pool.query(
    "update leases set fence = fence + 1, holder = gen_random_uuid() where account_id = $1 and name = $2",
    [account.account_id, `chat_sender:${number.id}`],
  );
  const sentBefore = provider.sent.length;
  provider.answer = takeMessage;
  for (const answer of answers) answer();
  await senders.stop();
  assert.equal((await statesOf(id))["accepted"], undefined);
  assert.ok(provider.sent.length - sentBefore <= 5, "what was marked may begin, no more");
  await api.app.db.pool.query("update leases set expires_at = now() where account_id = $1", [
    account.account_id,
  ]);
  const next = openSenders(api.app, default_settings);
  t.after(() => next.stop());
  await next.startDue();
  await eventually(
    async () =>
      ((await statesOf(id))["accepted"] ?? 0) + ((await statesOf(id))["unknown"] ?? 0) === 50,
  );
  assert.equal(
    new Set(provider.sent.map(({ outgoing }) => outgoing.to)).size,
    provider.sent.length,
  );
});

test("what was under way when a lease was lost is recorded, also of a campaign that ended meanwhile", async (t) => {
  const { account, campaign } = await open(t);
  const times = { lease_ms: 60_000, renew_ms: 100, margin_ms: 4_000 };
  const senders = openSenders(api.app, default_settings, times);
  t.after(() => senders.stop());
  const answers: (() => void)[] = [];
  provider.answer = async (outgoing) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answers.push(resolve);
    await promise;
    return takeMessage(outgoing);
  };
  const id = await campaign(5);
  await senders.startDue();
  await eventually(() => answers.length === 5);
  // As if no renewal had come through for so long.
  await api.app.db.pool.query("update leases set expires_at = now() where account_id = $1", [
    account.account_id,
  ]);
  await api.app.db.query
    .transaction()
    .execute((tx) =>
      failCampaign(tx, account.account_id, id, "template_unusable", api.clock.now()),
    );
  for (const answer of answers) answer();
  await eventually(async () => {
    await senders.startDue();
    return (await statesOf(id))["accepted"] === 5;
  });
});

async function refundsLateRefusals(
  t: TestContext,
  isSettled: boolean,
  [code, error]: readonly [number, string] = [132012, "invalid_parameter"],
): Promise<void> {
  const { account, number, campaign } = await open(t);
  const times = { lease_ms: 60_000, renew_ms: 100, margin_ms: 4_000 };
  const senders = openSenders(api.app, default_settings, times);
  t.after(() => senders.stop());
  const refusals: (() => void)[] = [];
  provider.answer = async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    refusals.push(resolve);
    await promise;
    return rejected(code)();
  };
  const id = await campaign(5);
  await senders.startDue();
  await eventually(() => refusals.length === 5);
  // As if no renewal had come through for so long.
  await api.app.db.pool.query("update leases set expires_at = now() where account_id = $1", [
    account.account_id,
  ]);
  const next = openSenders(api.app, default_settings);
  t.after(() => next.stop());
  await eventually(async () => {
    await next.startDue();
    return (await statesOf(id))["unknown"] === 5;
  });
  await eventually(() => next.handlesOf(account.account_id, number.id).length === 0);
  if (isSettled) {
    await api.app.db.pool.query(
      "update chat_recipients set due_at = due_at - interval '1 h' where campaign_id = $1",
      [id],
    );
    await settleUnknown(
      api.app,
      { account_id: account.account_id, subject: String(id) },
      new AbortController().signal,
    );
    assert.deepEqual(await statesOf(id), { unresolved: 5 });
    assert.equal(await available(account), 99_995);
  }
  for (const refuse of refusals) refuse();
  // As the poll does.
  await eventually(async () => {
    if (senders.isActive()) await senders.startDue();
    return (await statesOf(id))["refused"] === 5;
  });
  const [recipient] = await recipientsOf(id);
  assert.deepEqual([recipient!.error_code, recipient!.error], [code, error]);
  assert.equal(await available(account), 100_000);
  await completed(id);
  await checkCounts(id);
  await checkLedger(api.app.db.pool);
}

for (const [isSettled, end] of [
  [false, "and its campaign completes"],
  [true, "also once the outcome is settled"],
] as const)
  test(`a refusal that arrives after another sender took over gives the credit back, ${end}`, (t) =>
    refundsLateRefusals(t, isSettled));

test("a message whose outcome is settled is not sent again when the provider's refusal for the moment is recorded, but refunded", (t) =>
  refundsLateRefusals(t, true, [131049, "frequency_capped"]));

test("what a dead sender left as dispatching becomes unknown, is never sent again, and is settled: failed, charged", async (t) => {
  const { account, senders, campaign } = await open(t);
  const id = await campaign(10);
  await api.app.db.pool.query(
    `select chat_move_recipients_json($1, 'sender', (select json_agg(json_build_object('campaign_id', campaign_id,
       'id', id, 'dispatches', 0, 'state', 'dispatching')) from chat_recipients where campaign_id = $2 and
       id < (select min(id) + 4 from chat_recipients where campaign_id = $2)), $3)`,
    [account.account_id, id, api.clock.now()],
  );
  await senders.startDue();
  await eventually(async () => (await statesOf(id))["accepted"] === 6);
  assert.deepEqual(await statesOf(id), { unknown: 4, accepted: 6 });
  assert.equal(provider.sent.length, 6);
  assert.equal(await stateOf(id), "running");
  // An hour later.
  const { pool } = api.app.db;
  await pool.query(
    "update chat_recipients set due_at = due_at - interval '1 h' where state = 'unknown'",
  );
  await pool.query("update jobs set run_at = run_at - interval '1 h'");
  await workJobs(api.app, { "chat.settle_unknown": settleUnknown }, new AbortController().signal);
  assert.deepEqual(await statesOf(id), { unresolved: 4, accepted: 6 });
  assert.equal(await stateOf(id), "completed");
  assert.equal(await available(account), 99_990);
  await checkCounts(id);
  await checkLedger(api.app.db.pool);
});

test("a message of unknown outcome is not retried", async (t) => {
  const { senders, campaign } = await open(t);
  provider.answer = async () => {
    throw new ChatSendError("unknown", "cut");
  };
  const id = await campaign(5);
  await senders.startDue();
  await eventually(async () => (await statesOf(id))["unknown"] === 5);
  await senders.stop();
  assert.equal(provider.sent.length, 5);
  const [job] = await api.app.db.query
    .selectFrom("jobs")
    .selectAll()
    .where("kind", "=", "chat.settle_unknown")
    .where("subject", "=", String(id))
    .execute();
  assert.ok(job, "a job settles it later");
});

test("a refused recipient is failed with the provider's code and our word, and its credit given back", async (t) => {
  const { account, senders, campaign } = await open(t);
  provider.answer = rejected(131026);
  const id = await campaign(3);
  await senders.startDue();
  await completed(id);
  for (const row of await recipientsOf(id))
    assert.deepEqual([row.state, row.error_code, row.error], ["refused", 131026, "undeliverable"]);
  assert.equal(await available(account), 100_000);
  assert.equal(provider.sent.length, 3);
});

test("a throttled message goes again as a new dispatch, after the whole number was slowed down", async (t) => {
  const { senders, campaign } = await open(t);
  let refusals = 1;
  provider.answer = async (outgoing) => {
    if (refusals-- > 0) throw new ChatSendError("throttled", "slow", { retry_after_ms: 400 });
    return takeMessage(outgoing);
  };
  const id = await campaign(2);
  await senders.startDue();
  await completed(id);
  assert.equal(provider.sent.length, 3);
  assert.equal(new Set(provider.sent.map(({ outgoing }) => outgoing.message_id)).size, 3);
  const gap = provider.sent.at(-1)!.at - provider.sent[0]!.at;
  assert.ok(gap >= 400, `${gap} ms`);
});

test("a pair limit with status 429 delays only its recipient, who fails after the last attempt, and the number sends on", async (t) => {
  const stub = await startProviderStub();
  const secrets = { access_token: "stub-token", app_secret: "s", verify_token: "v" };
  const meta = openMetaDriver({ api_url: stub.api_url, ...secrets });
  const { account, senders, campaign } = await open(t);
  t.after(async () => {
    await senders.stop();
    await meta.close();
    await stub.close();
  });
  provider.answer = (outgoing, signal) => meta.send(stub_number, outgoing, signal);
  const limited = "919800000000";
  stub.setErrors([{ kind: "throttle", code: 131056, to: limited }]);
  const others = Array.from({ length: 20 }, (_, n) => ({ phone: String(919_800_000_001 + n) }));
  const began_at = Date.now();
  const id = await campaign([{ phone: limited }, ...others]);
  await senders.startDue();
  await eventually(async () => (await statesOf(id))["accepted"] === 20);
  const theLimited = async () => (await recipientsOf(id)).find(({ phone }) => phone === limited)!;
  const first = await theLimited();
  assert.deepEqual([first.state, first.error, first.attempts], ["deferred", "pair_limited", 1]);
  assert.ok(first.due_at!.getTime() >= began_at + 6_000);
  const ofCampaign = [account.account_id, id];
  await api.app.db.pool.query(
    "update chat_recipients set attempts = 7, due_at = now() where account_id = $1 and campaign_id = $2 and state = 'deferred'",
    ofCampaign,
  );
  await api.app.db.pool.query(
    "update chat_campaigns set work_at = now() where account_id = $1 and id = $2",
    ofCampaign,
  );
  await eventually(async () => {
    await senders.startDue();
    return (await stateOf(id)) === "completed";
  });
  const last = await theLimited();
  assert.deepEqual([last.state, last.error, last.error_code], ["refused", "pair_limited", 131056]);
  assert.equal(provider.sent.length, 22);
});

test("a number that the provider silences for an hour is held until then, also after a cancellation and for the next sender", async (t) => {
  const { account, number, senders, campaign, ask } = await open(t);
  t.after(async () => api.clock.release());
  api.clock.set(new Date());
  const now = api.clock.now().getTime();
  provider.answer = async () => {
    throw new ChatSendError("throttled", "slow", { retry_after_ms: 3_600_000 });
  };
  const id = await campaign(3);
  await senders.startDue();
  const recordOf = async (of: number) => (await ask("GET", `/${of}`)).body;
  await eventually(async () => (await recordOf(id)).paused_reason === "throttled");
  await senders.stop();
  const [held] = (await recordOf(id)).holds;
  assert.deepEqual([held.scope, held.subject_id], ["number", number.id]);
  assert.equal(Date.parse(held.ends_at), Math.ceil((now + 3_600_000) / 1_000) * 1_000);
  // The message waits, however few jobs do.
  api.clock.advance(600_000);
  const health = await api.send("GET", "/health/ready");
  assert.ok(health.body.queue_age_seconds >= 600, JSON.stringify(health.body));
  assert.equal((await ask("POST", `/${id}/cancel`)).status, 200);
  provider.answer = takeMessage;
  const attempts = provider.sent.length;
  const other = await campaign(2);
  const next = openSenders(api.app, default_settings);
  t.after(() => next.stop());
  await next.startDue();
  assert.equal((await recordOf(other)).paused_reason, "throttled");
  await eventually(async () => {
    const { rows } = await api.app.db.pool.query(
      "select from chat_campaigns where id = $1 and work_at > $2",
      [other, api.clock.now()],
    );
    return rows.length > 0;
  });
  assert.equal(provider.sent.length, attempts);
  api.clock.advance(3_001_000);
  await workJobs(
    api.app,
    { "chat.end_throttling": endThrottling, "chat.drain_campaign": drainCampaign },
    new AbortController().signal,
  );
  await next.startDue();
  await completed(other);
  assert.equal(provider.sent.length, attempts + 2);
  const events = await api.app.db.query
    .selectFrom("events")
    .select("type")
    .where("account_id", "=", account.account_id)
    .where("type", "=", "chat.campaign.resumed")
    .execute();
  assert.equal(events.length, 1);
});

test("a throttling that is extended ends at the later time", async (t) => {
  const { account, number } = await open(t);
  t.after(async () => api.clock.release());
  api.clock.set(new Date());
  const now = api.clock.now();
  const at = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
  const held = { account_id: account.account_id, scope: "number", subject_id: number.id } as const;
  const throttle = (ends_at: Date) =>
    api.app.db.query
      .transaction()
      .execute((tx) => hold(tx, { ...held, reason: "throttled", detail: null, ends_at }, now));
  assert.deepEqual(
    [await throttle(at(10)), await throttle(at(20)), await throttle(at(5))],
    [true, false, false],
  );
  const job = { account_id: account.account_id, subject: String(number.id) };
  api.clock.set(at(10));
  assert.deepEqual(await endThrottling(api.app, job), { again_at: at(20) });
  api.clock.set(at(20));
  assert.equal(await endThrottling(api.app, job), undefined);
  const { rows } = await api.app.db.pool.query("select from chat_holds where account_id = $1", [
    account.account_id,
  ]);
  assert.equal(rows.length, 0);
});

test("a message that the provider refuses for the moment is not sent again if its person got it under another address meanwhile", async (t) => {
  const { account, senders, campaign } = await open(t);
  const { account_id } = account;
  const id = await campaign(2);
  const [listed, other] = (await recipientsOf(id)).map((row) => ({
    id: row.id,
    phone: row.phone!,
  }));
  const bsuid = unique("IN.");
  await api.app.db.pool.query(
    "update chat_recipients set phone = null, bsuid = $4 where account_id = $1 and campaign_id = $2 and id = $3",
    [account_id, id, other!.id, bsuid],
  );
  const linked = Promise.withResolvers<void>();
  provider.answer = async (outgoing) => {
    if (outgoing.to === bsuid) return takeMessage(outgoing);
    await linked.promise;
    throw new ChatSendError("throttled", "slow down", { retry_after_ms: 10 });
  };
  await senders.startDue();
  await eventually(async () => (await recipientsOf(id))[1]!.state === "accepted");
  const links = [{ bsuid, phone: listed!.phone }];
  await api.app.db.query
    .transaction()
    .execute((tx) => linkBsuids(tx, account_id, links, api.clock.now()));
  provider.answer = takeMessage;
  linked.resolve();
  await completed(id);
  const states = (await recipientsOf(id)).map(({ state, error }) => error ?? state);
  assert.deepEqual(states, ["duplicate", "accepted"]);
  assert.deepEqual(provider.sent.map(({ outgoing }) => outgoing.to).toSorted(), [
    listed!.phone,
    bsuid,
  ]);
  await checkCounts(id);
  await checkLedger(api.app.db.pool);
});

test("a message that is deferred is also skipped if the sender ends before it skips it and its person got it under another address", async (t) => {
  const { account, campaign } = await open(t);
  const { account_id } = account;
  const id = await campaign(3);
  const [listed, other] = await recipientsOf(id);
  const bsuid = unique("IN.");
  await api.app.db.pool.query(
    "update chat_recipients set phone = null, bsuid = $4 where account_id = $1 and campaign_id = $2 and id = $3",
    [account_id, id, other!.id, bsuid],
  );
  const linked = Promise.withResolvers<void>();
  const alone = Promise.withResolvers<void>();
  provider.answer = async (outgoing) => {
    if (outgoing.to === bsuid) return takeMessage(outgoing);
    await (outgoing.to === listed!.phone ? linked : alone).promise;
    return rejected(131049)();
  };
  let hasEnded = true;
  const { pool: open_pool } = api.app.db;
  const query = async (config: { text: string; values: unknown[] }) => {
    const checks = (phone: string) =>
      config.text.includes("person_bsuids") && JSON.stringify(config.values).includes(phone);
    if (hasEnded && checks(listed!.phone!)) throw new Error("the process has ended");
    return open_pool.query(config);
  };
  const pool = new Proxy(open_pool, {
    get: (of, name) => (name === "query" ? query : (Reflect.get(of, name) as unknown)),
  });
  const senders = openSenders({ ...api.app, db: { ...api.app.db, pool } }, default_settings);
  t.after(() => {
    hasEnded = false;
    linked.resolve();
    alone.resolve();
    return senders.stop();
  });
  await senders.startDue();
  await eventually(async () => (await recipientsOf(id))[1]!.state === "accepted");
  const links = [{ bsuid, phone: listed!.phone! }];
  await api.app.db.query
    .transaction()
    .execute((tx) => linkBsuids(tx, account_id, links, api.clock.now()));
  const jobs = async () => {
    const { rows } = await api.app.db.pool.query<{ subject: string }>(
      "select subject from jobs where account_id = $1 and kind = 'chat.skip_duplicates'",
      [account_id],
    );
    return rows.map(({ subject }) => Number(subject));
  };
  alone.resolve();
  await eventually(async () => (await recipientsOf(id))[2]!.state === "deferred");
  assert.deepEqual(await jobs(), [], "no other person is listed twice");
  linked.resolve();
  await eventually(async () => (await recipientsOf(id))[0]!.state === "deferred");
  assert.deepEqual(await jobs(), [id]);
  const handlers = { "chat.skip_duplicates": repeatSkipDuplicates };
  await workJobs(api.app, handlers, new AbortController().signal);
  const outcomes = (await recipientsOf(id)).map(({ state, error }) => error ?? state);
  assert.deepEqual(outcomes, ["duplicate", "accepted", "frequency_capped"]);
  await checkCounts(id);
  await checkLedger(api.app.db.pool);
});

async function keepsRequiredRoute(t: TestContext, stored_by: "this" | "earlier"): Promise<void> {
  const { account, senders, campaign, ask } = await open(t, { marketing_onboarded: true });
  provider.answer = async ({ route }) => {
    if (route === "standard") return rejected(131063)();
    throw new ChatSendError("unreachable", "no network");
  };
  const id = await campaign(1);
  await senders.startDue();
  const routes = () => provider.sent.map(({ outgoing }) => outgoing.route);
  await eventually(() => routes().includes("marketing"));
  await senders.stop();
  if (stored_by === "earlier")
    await api.app.db.query
      .updateTable("chat_campaigns")
      .set({ mm_lite: JSON.stringify({ requested: false, used: true, reason: null }) })
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .execute();
  const first = provider.sent.length;
  provider.answer = takeMessage;
  const next = openSenders(api.app, default_settings);
  t.after(() => next.stop());
  await eventually(async () => {
    await next.startDue();
    return (await stateOf(id)) === "completed";
  });
  assert.deepEqual(routes().slice(first), ["marketing"]);
  const { body } = await ask("GET", `/${id}`);
  assert.deepEqual(body.mm_lite, { requested: false, used: true, reason: null });
}

for (const [stored_by, version] of [
  ["this", ""],
  ["earlier", ", also where an earlier version stored it"],
] as const)
  test(`the next sender of a number keeps the marketing route that the provider required${version}`, (t) =>
    keepsRequiredRoute(t, stored_by));

test("a campaign whose required marketing route ends with its template's new category takes the other route, without a new sender", async (t) => {
  const { account, template_id, senders, campaign } = await open(t, { marketing_onboarded: true });
  let hasChanged = false;
  provider.answer = async (outgoing) => {
    if (outgoing.route === "marketing") throw new ChatSendError("unreachable", "no network");
    return hasChanged ? takeMessage(outgoing) : rejected(131063)();
  };
  const id = await campaign(1);
  await senders.startDue();
  const routes = () => provider.sent.map(({ outgoing }) => outgoing.route);
  await eventually(() => routes().includes("marketing"));
  const at = new Date(api.clock.now().getTime() + 1_000);
  hasChanged = true;
  await api.app.db.query
    .transaction()
    .execute((tx) =>
      setTemplateStatus(
        tx,
        { account_id: account.account_id, template_id },
        { category: "UTILITY", at },
        at,
      ),
    );
  await eventually(async () => (await stateOf(id)) === "completed", 30);
  assert.deepEqual([routes()[0], routes().at(-1)], ["standard", "standard"]);
  assert.equal((await recipientsOf(id))[0]!.state, "accepted");
});

test("a message that the marketing route refuses for its template's category goes out by the other route after a sync", async (t) => {
  const { account, number, senders } = await open(t, { marketing_onboarded: true });
  const template_id = await makeChatTemplate(api.app, account, number, { category: "MARKETING" });
  const phones = [{ phone: "919800000001" }];
  const id = await makeChatCampaign(api.app, account, number, template_id, phones);
  const ofAccount = [account.account_id];
  const { pool } = api.app.db;
  await pool.query(
    `update chat_campaigns set mm_lite = '{"requested": true, "used": true, "reason": null}' where account_id = $1`,
    ofAccount,
  );
  provider.answer = async (outgoing) =>
    outgoing.route === "marketing" ? rejected(134100)() : takeMessage(outgoing);
  const asked_at = Date.now();
  await senders.startDue();
  const syncs = async () => {
    const { rows } = await pool.query<{ run_at: Date }>(
      "select run_at from jobs where account_id = $1 and kind = 'chat.sync_templates'",
      ofAccount,
    );
    return rows;
  };
  await eventually(async () => (await syncs()).length > 0);
  const [sync] = await syncs();
  const wait_ms = sync!.run_at.getTime() - asked_at;
  assert.ok(wait_ms >= 60_000 && wait_ms < 120_000, `${wait_ms} ms`);
  // The sync is asked for before the outcome is stored.
  await eventually(async () => (await recipientsOf(id))[0]!.state !== "dispatching");
  const [deferred] = await recipientsOf(id);
  assert.deepEqual([deferred!.state, deferred!.error], ["deferred", "template_not_marketing"]);
  // As the sync does.
  await pool.query(
    "update chat_templates set category = 'UTILITY' where account_id = $1",
    ofAccount,
  );
  await pool.query("update chat_recipients set due_at = now() where account_id = $1", ofAccount);
  await pool.query("update chat_campaigns set work_at = now() where account_id = $1", ofAccount);
  await eventually(async () => {
    await senders.startDue();
    return (await stateOf(id)) === "completed";
  });
  const routes = provider.sent.map(({ outgoing }) => outgoing.route);
  assert.deepEqual(routes, ["marketing", "standard"]);
});

async function takesMarketingRouteOnlyWhileAllowed(
  t: TestContext,
  ends: "template" | "number",
): Promise<void> {
  const { account, number, senders } = await open(t, { marketing_onboarded: true });
  const template_id = await makeChatTemplate(api.app, account, number, { category: "MARKETING" });
  const phones = [{ phone: "919800000001" }];
  const id = await makeChatCampaign(api.app, account, number, template_id, phones);
  const set = (
    table: "chat_campaigns" | "chat_templates" | "chat_numbers",
    of: number,
    values: object,
  ) =>
    api.app.db.query
      .updateTable(table)
      .set(values as never)
      .where("account_id", "=", account.account_id)
      .where("id", "=", of)
      .execute();
  const mm_lite = JSON.stringify({ requested: true, used: true, reason: null });
  await set("chat_campaigns", id, { mm_lite });
  const routes = () => provider.sent.map(({ outgoing }) => outgoing.route);
  provider.answer = rejected(131009);
  await senders.startDue();
  await eventually(async () => (await recipientsOf(id))[0]!.state === "deferred");
  assert.deepEqual(routes(), ["marketing"]);
  assert.equal((await recipientsOf(id))[0]!.error, "template_not_ready");
  provider.answer = takeMessage;
  if (ends === "template") await set("chat_templates", template_id, { category: "UTILITY" });
  else await set("chat_numbers", number.id, { marketing_onboarded: false });
  await api.app.db.query
    .updateTable("chat_recipients")
    .set({ due_at: api.app.clock.now() })
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", id)
    .execute();
  await set("chat_campaigns", id, { work_at: api.app.clock.now() });
  await eventually(async () => {
    await senders.startDue();
    return (await stateOf(id)) === "completed";
  });
  assert.deepEqual(routes(), ["marketing", "standard"]);
}

for (const [ends, condition] of [
  ["template", "its template is marketing"],
  ["number", "its number may use it"],
] as const)
  test(`a campaign takes the marketing route only while ${condition}, and waits for a template that is not ready there`, (t) =>
    takesMarketingRouteOnlyWhileAllowed(t, ends));

const wakesAtOnce = (what: string, changed: object) =>
  test(`a quiet time that is ${what} wakes the campaigns that waited for its end`, async (t) => {
    const { account, senders, campaign } = await open(t);
    t.after(async () => api.clock.release());
    api.clock.set("2026-11-20T23:30:00Z");
    const patch = async (chat: object) => {
      const json = { time_zone: "UTC", chat };
      const { token } = account;
      const { status, text } = await api.send("PATCH", "/api/v1/account", { token, json });
      assert.equal(status, 200, text);
    };
    await patch({ quiet_from: "20:00", quiet_to: "08:00" });
    const id = await campaign(2);
    await senders.startDue();
    const workAt = async () => {
      const { work_at } = await api.app.db.query
        .selectFrom("chat_campaigns")
        .select("work_at")
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      return work_at.toISOString();
    };
    await eventually(async () => (await workAt()) === "2026-11-21T08:00:00.000Z");
    await patch(changed);
    const handlers = { "chat.wake_campaigns": wakeCampaigns };
    await workJobs(api.app, handlers, new AbortController().signal);
    await eventually(async () => {
      await senders.startDue();
      return (await stateOf(id)) === "completed";
    });
    assert.equal(provider.sent.length, 2);
  });
void wakesAtOnce("removed", { quiet_from: null, quiet_to: null });
void wakesAtOnce("shortened", { quiet_from: "20:00", quiet_to: "23:00" });

test("slow responses do not lower the rate of a fast number", async (t) => {
  const { senders, campaign } = await open(t, { rate_per_second: 1_000 });
  const answered = Promise.withResolvers<void>();
  provider.answer = async (outgoing) => {
    await answered.promise;
    return takeMessage(outgoing);
  };
  const id = await campaign(700);
  await senders.startDue();
  await eventually(() => provider.sent.length === 700);
  answered.resolve();
  await completed(id);
  assert.equal(provider.sent.length, 700);
});

test("a recipient's patience is counted by error: what came before uses up none of it", async (t) => {
  const { senders, campaign } = await open(t);
  const refusals = [
    new ChatSendError("throttled", "slow", { retry_after_ms: 50 }),
    new ChatSendError("throttled", "slow", { retry_after_ms: 50 }),
    new ChatSendError("rejected", "tomorrow", { code: 131049 }),
  ];
  provider.answer = async () => {
    throw refusals.shift()!;
  };
  const id = await campaign(1);
  await senders.startDue();
  const theOne = async () => (await recipientsOf(id))[0]!;
  await eventually(async () => (await theOne()).error === "frequency_capped");
  const { state, attempts, due_at } = await theOne();
  assert.deepEqual([state, attempts, provider.sent.length], ["deferred", 1, 3]);
  assert.ok(due_at!.getTime() > Date.now() + 80_000_000);
});

const holds: readonly [number, string, string][] = [
  [131048, "number", "sender_restricted"],
  [133010, "number", "sender_restricted"],
  [33, "number", "sender_restricted"],
  [190, "number", "auth"],
  [131042, "number", "sender_restricted"],
  [132015, "template", "template_paused"],
];
const provesHold = (code: number, scope: string, reason: string) =>
  test(`the provider's ${code} holds the ${scope} (${reason}), and its message waits`, async (t) => {
    const { account, senders, campaign } = await open(t);
    provider.answer = rejected(code);
    const id = await campaign(40);
    await senders.startDue();
    const heldBy = () =>
      api.app.db.query
        .selectFrom("chat_holds")
        .select(["scope", "reason"])
        .where("account_id", "=", account.account_id)
        .execute();
    await eventually(async () => (await heldBy()).length > 0);
    await senders.stop();
    assert.deepEqual(await heldBy(), [{ scope, reason }]);
    const { refused, unknown, ...waiting } = await statesOf(id);
    assert.deepEqual([refused, unknown], [undefined, undefined]);
    assert.equal((waiting["deferred"] ?? 0) + (waiting["queued"] ?? 0), 40);
  });
for (const held of holds) void provesHold(...held);

test("a template that the provider does not know fails the campaign; the rest is skipped and given back", async (t) => {
  const { account, senders, campaign } = await open(t, { rate_per_second: 40 });
  provider.answer = rejected(132001);
  const id = await campaign(100);
  await senders.startDue();
  await eventually(async () => (await stateOf(id)) === "failed");
  await senders.stop();
  await workJobs(api.app, { "chat.drain_campaign": drainCampaign }, new AbortController().signal);
  const { refused, skipped } = await statesOf(id);
  assert.equal(refused! + skipped!, 100);
  assert.equal(await available(account), 100_000);
  await checkCounts(id);
  await checkLedger(api.app.db.pool);
});

test("a customer reported as opted out by the provider is suppressed", async (t) => {
  const { account, senders, campaign } = await open(t);
  provider.answer = rejected(131050);
  const id = await campaign([{ phone: "919800000000" }]);
  await senders.startDue();
  await completed(id);
  const suppressed = await api.app.db.query
    .selectFrom("suppressions")
    .select(["phone", "channel", "scope", "source"])
    .where("account_id", "=", account.account_id)
    .execute();
  const marketing = { channel: "chat", scope: "marketing", source: "provider" };
  assert.deepEqual(suppressed, [{ phone: "919800000000", ...marketing }]);
});

test("a campaign is not paused because a quarter of its recipients cannot be reached", async (t) => {
  const { senders, campaign } = await open(t, { rate_per_second: 200 });
  provider.answer = async (outgoing) =>
    provider.sent.length % 4 === 0 ? rejected(131026)() : takeMessage(outgoing);
  const id = await campaign(500);
  await senders.startDue();
  await completed(id);
  const { accepted, refused } = await statesOf(id);
  assert.equal(accepted! + refused!, 500);
  assert.ok(refused! >= 100);
});

test("a campaign whose messages mostly fail is paused, and says why", async (t) => {
  const { account, senders, campaign } = await open(t, { rate_per_second: 100 });
  provider.answer = rejected(135000);
  const id = await campaign(2_000);
  await senders.startDue();
  const held = () =>
    api.app.db.query
      .selectFrom("chat_holds")
      .selectAll()
      .where("account_id", "=", account.account_id)
      .executeTakeFirst();
  await eventually(async () => (await held()) !== undefined);
  const found = (await held())!;
  assert.deepEqual([found.scope, found.reason], ["campaign", "error_threshold"]);
  assert.match(found.detail!, /^100% of the last messages failed$/);
  assert.ok(provider.sent.length < 1_000);
  await senders.stop();
  assert.equal(await stateOf(id), "running");
  const recorded = await api.app.db.query
    .selectFrom("events")
    .select(["type", "data"])
    .where("account_id", "=", account.account_id)
    .execute();
  assert.deepEqual(recorded, [
    {
      type: "chat.campaign.paused",
      data: { campaign_id: id, name: "Test campaign", paused_reason: "error_threshold" },
    },
  ]);
});

test("a message that was marked more than 0.8 s ago is given back instead of sent", async (t) => {
  const { account, senders, campaign } = await open(t);
  const id = await campaign(20);
  // Another transaction locks the counts, which delays the marking statement.
  const blocker = new pg.Client({ connectionString: api.database_url });
  await blocker.connect();
  t.after(() => blocker.end());
  await blocker.query("begin");
  await blocker.query(
    "insert into chat_counts (account_id, campaign_id, slot) values ($1, $2, 'sender')",
    [account.account_id, id],
  );
  await senders.startDue();
  let waits_since_ms: number | undefined;
  await eventually(async () => {
    const { rows } = await api.app.db.pool.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%record_and_claim_messages%' and datname = current_database()",
    );
    if (rows.length > 0) waits_since_ms ??= performance.now();
    return performance.now() - (waits_since_ms ?? Infinity) > 1_000;
  });
  await blocker.query("rollback");
  await completed(id);
  assert.equal(provider.sent.length, 20);
  const dispatches = (await recipientsOf(id)).map((row) => row.dispatches);
  assert.ok(
    dispatches.some((count) => count > 1),
    "the first portion was given back",
  );
});

test("senders survive the loss of every database connection, and no message is sent twice", async (t) => {
  const { senders, campaign, provider: own } = await open(t, { rate_per_second: 500 });
  const id = await campaign(1_500);
  await senders.startDue();
  for (const goal of [200, 600, 1_000]) {
    await eventually(() => own.sent.length > goal);
    const admin = new pg.Client({ connectionString: api.database_url });
    await admin.connect();
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()",
    );
    await admin.end();
  }
  const state = () => stateOf(id).catch(() => "not to be had");
  await eventually(async () => (await state()) === "completed");
  assert.equal(own.sent.length, 1_500);
  assert.equal(new Set(own.sent.map(({ outgoing }) => outgoing.to)).size, 1_500);
  assert.deepEqual(await statesOf(id), { accepted: 1_500 });
  await checkCounts(id);
});

test("two processes' senders never send for one number at once", async (t) => {
  const { senders, campaign } = await open(t, { rate_per_second: 400 });
  const other = await startApi({
    databaseUrl: api.database_url,
    chatDrivers: { sandbox: shared.driver },
  });
  const others = openSenders(other.app, default_settings);
  t.after(async () => {
    await others.stop();
    await other.close();
  });
  const id = await campaign(400);
  await Promise.all([senders.startDue(), others.startDue()]);
  await completed(id);
  assert.equal(provider.sent.length, 400);
  assert.equal(new Set(provider.sent.map(({ outgoing }) => outgoing.to)).size, 400);
});

test("a failed campaign is not failed twice, and its event is recorded once", async (t) => {
  const { account, campaign } = await open(t);
  const id = await campaign(1);
  const fail = () =>
    api.app.db.query
      .transaction()
      .execute((tx) =>
        failCampaign(tx, account.account_id, id, "template_unusable", api.clock.now()),
      );
  await fail();
  await fail();
  const events = await api.app.db.query
    .selectFrom("events")
    .select("type")
    .where("account_id", "=", account.account_id)
    .execute();
  assert.deepEqual(events, [{ type: "chat.campaign.failed" }]);
});

test("a campaign's holds end when it fails", async (t) => {
  const { account, campaign } = await open(t);
  const id = await campaign(1);
  const { account_id } = account;
  const now = api.clock.now();
  const held = { account_id, scope: "campaign", subject_id: id, reason: "manual" } as const;
  await api.app.db.query.transaction().execute(async (tx) => {
    assert.equal(await hold(tx, { ...held, detail: null }, now), true);
    await failCampaign(tx, account_id, id, "template_unusable", now);
  });
  const { rows } = await api.app.db.pool.query("select from chat_holds where account_id = $1", [
    account_id,
  ]);
  assert.equal(rows.length, 0);
});

test("a process without credentials for a provider does not take its numbers", async (t) => {
  const { account, number, senders, campaign } = await open(t);
  const other = await startApi({ databaseUrl: api.database_url, chatDrivers: {} });
  const others = openSenders(other.app, default_settings);
  t.after(async () => {
    await others.stop();
    await other.close();
  });
  const id = await campaign(5);
  await others.startDue();
  await others.stop();
  const leases = await api.app.db.query
    .selectFrom("leases")
    .select("name")
    .where("account_id", "=", account.account_id)
    .where("name", "=", `chat_sender:${number.id}`)
    .execute();
  assert.deepEqual(leases, []);
  await senders.startDue();
  await completed(id);
});
