// A poll queries the database while messages finish: it must never return a sent message to the
// queue.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import type { Pool } from "pg";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import { awaitsLock } from "../../../../test/support/awaits-lock.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  type TestChatNumber,
} from "../../../../test/support/chat-factory.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { rowsRead } from "../../../../test/support/rows-read.ts";
import {
  makeAccount,
  makeCredits,
  type TestAccount,
} from "../../../../test/support/account-factory.ts";
import type { ChatDriver } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import { acquireLease, type Lease } from "../../../engine/leases.ts";
import { default_settings } from "../../../worker.ts";
import { openDispatch } from "./dispatch.ts";
import type { Sender } from "./sender.ts";
import {
  findDispatching,
  findOpenCampaigns,
  findPlan,
  findSenderNumber,
  recordAndMark,
  setWorkAt,
} from "./sender-statements.ts";
import { failCampaign } from "../../campaigns/fail-campaign.ts";
import { wakeCampaigns } from "../../campaigns/wake-campaigns.ts";
import { hold } from "../../holds/holds.ts";
import { moveRecipients } from "../../recipients/move-recipients.ts";
import { openSenders } from "../open-senders.ts";
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
  const sender = await openSender(lease!, number, driver, {
    // The provider answers while this statement is on its way.
    pool: beforeEach(app.db.pool, /state = 'dispatching'/, answer),
    wake: () => recorded.resolve(),
  });
  async function answer() {
    accepted.resolve({ provider_message_id: "wamid.1" });
    await recorded.promise;
  }
  const dispatch = openDispatch(sender, () => {});
  await pollNumber(sender, dispatch);
  const holder = { account_id: account.account_id, number_id: number.id, fence: lease!.fence };
  const { marked } = await recordAndMark(app, holder, [], { campaign_id, take: 2, after: 0 });
  sender.campaigns.get(campaign_id)!.plan = await findPlan(app, account.account_id, campaign_id);
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
  await recoverDispatching(late, async () => true);
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

test("recipients in doubt after a restore become unknown, 1,000 in a statement, and are settled from the first due time on", async (t) => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 10_000 });
  const number = await makeChatNumber(app, account);
  const ids = [
    await makeDispatching(account, number, 2_500),
    await makeDispatching(account, number, 3),
  ];
  const recorded: number[] = [];
  const pool = beforeEach(app.db.pool, /record_and_claim_messages/, async ({ values }) => {
    recorded.push((JSON.parse(values[3] as string) as unknown[]).length);
  });
  const senders = openSenders(
    { ...app, chatDrivers: { sandbox: {} as ChatDriver }, db: { ...app.db, pool } },
    default_settings,
  );
  t.after(() => senders.stop());
  await senders.startDue();
  await eventually(async () => (await statesOf(account))["unknown"] === 2_503);
  assert.ok(Math.max(...recorded) <= 1_000, `${recorded.join(", ")} in a statement`);
  const { rows } = await app.db.pool.query<{ subject: string; is_first: boolean }>(
    `select j.subject, j.run_at = (
       select min(r.due_at) from chat_recipients r
       where r.account_id = $1 and r.campaign_id = j.subject::bigint) as is_first
     from jobs j where j.account_id = $1 and j.kind = 'chat.settle_unknown' order by j.subject::bigint`,
    [account.account_id],
  );
  assert.deepEqual(
    rows,
    ids.map((id) => ({ subject: String(id), is_first: true })),
  );
});

test("the next sender continues a recovery that a stop interrupted, also of a campaign that has ended", async (t) => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 10_000 });
  const number = await makeChatNumber(app, account);
  const campaign_id = await makeDispatching(account, number, 2_500);
  const chatDrivers = { sandbox: {} as ChatDriver };
  const stopped = Promise.withResolvers<void>();
  // The second statement records the first batch.
  let statements = 0;
  const pool = beforeEach(app.db.pool, /record_and_claim_messages/, async () => {
    if (++statements === 2) stopped.resolve(senders.stop());
  });
  const senders = openSenders({ ...app, chatDrivers, db: { ...app.db, pool } }, default_settings);
  await senders.startDue();
  await stopped.promise;
  assert.deepEqual(await statesOf(account), { dispatching: 1_500, unknown: 1_000 });
  await app.db.query
    .transaction()
    .execute((tx) =>
      failCampaign(tx, account.account_id, campaign_id, "template_unusable", app.clock.now()),
    );
  const next = openSenders({ ...app, chatDrivers }, default_settings);
  t.after(() => next.stop());
  await next.startDue();
  await eventually(async () => (await statesOf(account))["unknown"] === 2_500);
});

test("a poll of a campaign reads none of its recipients of unknown outcome", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 10_000 });
  const number = await makeChatNumber(app, account);
  const campaign_id = await makeDispatching(account, number, 1_000);
  const { account_id } = account;
  const marked = await findDispatching(app, account_id, [campaign_id]);
  const due_at = new Date(app.clock.now().getTime() + 3_600_000);
  const move = (state: "unknown" | "deferred", rows: typeof marked) =>
    moveRecipients(
      app.db.pool,
      account_id,
      rows.map((row) => ({ ...row, state, due_at })),
      app.clock.now(),
    );
  await move("unknown", marked);
  const poll = (of: App) => findOpenCampaigns(of, account_id, number.id);
  const read = await rowsRead(app, poll);
  assert.ok(read > 0 && read < 200, `read ${read} rows`);

  await move("deferred", marked.slice(0, 1));
  const [found] = await poll(app);
  assert.deepEqual([found!.unknown, found!.deferred, found!.next_due_at], [999, 1, due_at]);
});

test("a poll does not read all recipients of unknown outcome that are due before the next deferred one", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 10_000 });
  const number = await makeChatNumber(app, account);
  const campaign_id = await makeDispatching(account, number, 3_000);
  const { account_id } = account;
  const marked = await findDispatching(app, account_id, [campaign_id]);
  const now = app.clock.now();
  const inMs = (ms: number) => new Date(now.getTime() + ms);
  const deferred_at = inMs(7_200_000);
  const moves = marked.map((row, i) =>
    i === 0
      ? { ...row, state: "deferred" as const, due_at: deferred_at }
      : { ...row, state: "unknown" as const, due_at: inMs(3_600_000 + i) },
  );
  await moveRecipients(app.db.pool, account_id, moves, now);
  await app.db.pool.query("analyze chat_recipients");
  const poll = (of: App) => findOpenCampaigns(of, account_id, number.id);
  const read = await rowsRead(app, poll);
  assert.ok(read > 0 && read < 500, `read ${read} rows`);
  // Before the deferred one is due, so that the sender polls again in time, and not before any is due.
  const [early] = await poll(app);
  assert.ok(early!.next_due_at! > inMs(3_600_000) && early!.next_due_at! < deferred_at);
  const late = { ...app, clock: { ...app.clock, now: () => inMs(3_700_000) } };
  const [then] = await poll(late);
  assert.deepEqual(then!.next_due_at, deferred_at);
  const due = { ...app, clock: { ...app.clock, now: () => inMs(7_300_000) } };
  const [at_last] = await poll(due);
  assert.deepEqual(at_last!.next_due_at, deferred_at);
});

test("a poll reads neither scheduled campaigns nor their counts; a sender's recovery finds their messages in flight", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 100 });
  const { account_id } = account;
  const number = await makeChatNumber(app, account);
  for (let i = 0; i < 20; i++) await makeDispatching(account, number, 1);
  const schedule = "update chat_campaigns set state = 'scheduled' where account_id = $1";
  await app.db.pool.query(schedule, [account_id]);
  // So many that the index without them costs clearly less.
  await app.db.pool.query(
    `insert into chat_campaigns select r.*
     from (select * from chat_campaigns where account_id = $1 limit 1) c
     cross join generate_series(1, 500) n
     cross join lateral jsonb_populate_record(null::chat_campaigns, to_jsonb(c) || jsonb_build_object('id', 1000000 + n)) r`,
    [account_id],
  );
  await app.db.pool.query("analyze chat_campaigns");
  const readOf = async (withScheduled: boolean) => {
    const read = { chat_campaigns: 0, chat_counts: 0 };
    await rowsRead(app, async (of) => {
      // As in a large table.
      await sql`set local enable_seqscan = off`.execute(of.db.query);
      const count = async (sign: 1 | -1) => {
        const { rows } = await sql<{ table: keyof typeof read; n: number }>`
          select relname as table, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n
          from pg_stat_xact_user_tables
          where relname in ('chat_campaigns', 'chat_counts')`.execute(of.db.query);
        for (const { table, n } of rows) read[table] += sign * n;
      };
      await count(-1);
      await findOpenCampaigns(of, account_id, number.id, withScheduled);
      await count(1);
    });
    return read;
  };
  assert.deepEqual(await readOf(false), { chat_campaigns: 0, chat_counts: 0 });
  const { chat_campaigns, chat_counts } = await readOf(true);
  assert.ok(chat_campaigns >= 20 && chat_counts >= 20);
  assert.deepEqual(await findOpenCampaigns(app, account_id, number.id), []);
  assert.equal((await findOpenCampaigns(app, account_id, number.id, true)).length, 20);
});

test("the statements of a sender do not grow with the campaigns of its number that wait", async (t) => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 100 });
  const { account_id } = account;
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const make = (phone: string) => makeChatCampaign(app, account, number, template, [{ phone }]);
  for (let i = 0; i < 30; i++) {
    const subject_id = await make("919800000005");
    const held = {
      account_id,
      scope: "campaign",
      subject_id,
      reason: "auth",
      detail: null,
    } as const;
    await app.db.query.transaction().execute((tx) => hold(tx, held, app.clock.now()));
  }
  await make("919800000006");
  const statements: string[] = [];
  const pool = beforeEach(app.db.pool, /chat_campaigns/, async ({ text }) => {
    statements.push(text);
  });
  const driver = { send: async () => ({ provider_message_id: "wamid.6" }) };
  const senders = openSenders(
    {
      ...app,
      chatDrivers: { sandbox: driver as unknown as ChatDriver },
      db: { ...app.db, pool },
    },
    default_settings,
  );
  t.after(() => senders.stop());
  await senders.startDue();
  const waitingAfter = async (at: Date) => {
    const { rows } = await app.db.pool.query(
      "select from chat_campaigns where account_id = $1 and state = 'running' and work_at > $2",
      [account_id, at],
    );
    return rows.length;
  };
  const soon = new Date(app.clock.now().getTime() + 30_000);
  await eventually(async () => (await waitingAfter(soon)) === 30);
  assert.ok((await statesOf(account))["accepted"] === 1);
  assert.ok(statements.length < 15, `${statements.length} statements`);
});

test("a sender that delays campaigns and a job that wakes them lock them in the order of IDs, as holds do", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 10 });
  const { account_id } = account;
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const make = (phone: string) => makeChatCampaign(app, account, number, template, [{ phone }]);
  const ids = [await make("919800000007"), await make("919800000008")];
  const delay = async () => {
    const found = await findOpenCampaigns(app, account_id, number.id);
    const polls = found.toSorted((one, other) => other.campaign_id - one.campaign_id);
    const next = new Date(app.clock.now().getTime() + 60_000);
    await setWorkAt(
      app,
      account_id,
      polls.map((latest) => ({ latest, next })),
    );
  };
  for (const change of [delay, () => wakeCampaigns(app, { account_id })]) {
    // Stored behind the second one from now on.
    await app.db.pool.query(
      "update chat_campaigns set work_at = $3 where account_id = $1 and id = $2",
      [account_id, ids[0], new Date(app.clock.now().getTime() + 1_000)],
    );
    let changed: Promise<void> | undefined;
    await app.db.query.transaction().execute(async (tx) => {
      const lock = (id: number | undefined) =>
        sql`select from chat_campaigns where account_id = ${account_id} and id = ${id}
          for no key update nowait`.execute(tx);
      await lock(ids[0]);
      changed = change();
      await awaitsLock(app.db.query);
      await lock(ids[1]);
    });
    await changed;
  }
});

test("a failed campaign is not held because its last messages fail", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 100 });
  const { account_id } = account;
  const number = await makeChatNumber(app, account);
  const campaign_id = await makeDispatching(account, number, 61);
  const lease = (await acquireLease(app, account_id, `chat_sender:${number.id}`))!;
  const sender = await openSender(lease, number, {} as ChatDriver);
  const dispatch = openDispatch(sender, () => {});
  await pollNumber(sender, dispatch);
  const now = app.clock.now();
  await app.db.query
    .transaction()
    .execute((tx) => failCampaign(tx, account_id, campaign_id, "template_unusable", now));
  const marked = await findDispatching(app, account_id, [campaign_id]);
  const refused = marked.slice(1).map((row) => ({ ...row, state: "refused" as const }));
  await moveRecipients(app.db.pool, account_id, refused, now);
  await pollNumber(sender, dispatch);
  assert.deepEqual(sender.effects, []);
  await lease.release();
});

test("a changed error threshold applies to a campaign that is sending", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 200 });
  const { account_id } = account;
  const number = await makeChatNumber(app, account);
  const setThreshold = (percent: number) =>
    app.db.query
      .updateTable("accounts")
      .set({ chat_error_percent: percent })
      .where("account_id", "=", account_id)
      .execute();
  await setThreshold(50);
  const campaign_id = await makeDispatching(account, number, 101);
  const lease = (await acquireLease(app, account_id, `chat_sender:${number.id}`))!;
  const sender = await openSender(lease, number, {} as ChatDriver);
  const dispatch = openDispatch(sender, () => {});
  await pollNumber(sender, dispatch);
  const marked = await findDispatching(app, account_id, [campaign_id]);
  const ended = marked.slice(1).map((row, n) => ({
    ...row,
    state: n < 30 ? ("refused" as const) : ("accepted" as const),
  }));
  await moveRecipients(app.db.pool, account_id, ended, app.clock.now());
  await pollNumber(sender, dispatch);
  assert.equal(sender.effects.length, 0);
  await setThreshold(30);
  await pollNumber(sender, dispatch);
  const holds = sender.effects.map((effect) => effect.kind === "hold" && effect.reason);
  assert.deepEqual(holds, ["error_threshold"]);
  await lease.release();
});

/** Returns a sender that has loaded nothing but its number. */
async function openSender(
  lease: Lease,
  { id: number_id }: TestChatNumber,
  driver: ChatDriver,
  { pool = api.app.db.pool, wake = () => {} }: { pool?: Pool; wake?: () => void } = {},
): Promise<Sender> {
  const { app } = api;
  return {
    app: { ...app, chatDrivers: { sandbox: driver }, db: { ...app.db, pool } },
    lease,
    number_id,
    settings: default_settings,
    results: [],
    effects: [],
    deferred: [],
    campaigns: new Map(),
    ended_lately: 0,
    number: await findSenderNumber(app, lease.account_id, number_id),
    driver,
    wake,
  };
}

/** Creates a campaign of so many recipients and marks all of them as dispatching, as after a restore; returns its ID. */
async function makeDispatching(account: TestAccount, number: TestChatNumber, count: number) {
  const { app } = api;
  const template = await makeChatTemplate(app, account, number);
  const phones = Array.from({ length: count }, (_, n) => ({ phone: String(919_800_000_000 + n) }));
  const campaign_id = await makeChatCampaign(app, account, number, template, phones);
  const rows = await app.db.query
    .selectFrom("chat_recipients")
    .select(["id", "dispatches"])
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("id")
    .execute();
  const moves = rows.map((row) => ({ ...row, campaign_id, state: "dispatching" as const }));
  await moveRecipients(app.db.pool, account.account_id, moves, app.clock.now());
  return campaign_id;
}

/** Returns how many recipients of the account are in each state. */
async function statesOf({ account_id }: TestAccount): Promise<Record<string, number>> {
  const { rows } = await api.app.db.pool.query<{ state: string; count: number }>(
    "select state, count(*)::int from chat_recipients where account_id = $1 group by state",
    [account_id],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

type Query = { readonly text: string; readonly values: readonly unknown[] };

/** The pool, with something done before each statement of a form. */
function beforeEach(pool: Pool, form: RegExp, run: (query: Query) => Promise<void>): Pool {
  const query = async (config: Query) => {
    if (form.test(config.text)) await run(config);
    return pool.query(config as { text: string });
  };
  return new Proxy(pool, {
    get: (of, name) => (name === "query" ? query : (Reflect.get(of, name) as unknown)),
  });
}
