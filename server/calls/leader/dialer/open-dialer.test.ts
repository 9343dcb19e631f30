// The order in which a node leader calls the recipients of campaigns.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeCallingAccount, makeTrunk } from "../../../../test/support/telephony-factory.ts";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { whileBalanceIsLocked } from "../../../../test/support/balance-lock.ts";
import { awaitsLock } from "../../../../test/support/awaits-lock.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { makeVoiceCampaign, type RecipientToMake } from "../../../../test/support/voice-factory.ts";
import { claimRecipients, findDialable } from "../node/leader-statements.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { suppress } from "../../../audience/suppressions/suppress.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
});
after(() => fixture.close());

/** Recipients, by default with unallocated numbers, whose calls end at once. */
let numbers = 0;
function people(count: number, code = "404"): RecipientToMake[] {
  return Array.from({ length: count }, () => {
    numbers += 1;
    const number = `9${String(numbers).padStart(3, "0")}777${code}`;
    return { number, phone: `91${number}` };
  });
}

const claimOf = { fence: 0, take: 1, caller_id: "0", time_zones: [""] };

type Made = { readonly account_id: number; readonly id: number };

/** Returns when its recipients were called, in order. */
async function order(): Promise<number[]> {
  const calls = await fixture.app.db.query
    .selectFrom("calls")
    .select("campaign_id")
    .where("recipient_id", "is not", null)
    .orderBy("id")
    .execute();
  return calls.map(({ campaign_id }) => campaign_id);
}

async function allCalled(campaigns: readonly Made[]): Promise<void> {
  await eventually(async () => {
    const { rows } = await fixture.app.db.pool.query(
      "select from voice_recipients where state in ('waiting', 'calling') and campaign_id = any ($1)",
      [campaigns.map(({ id }) => id)],
    );
    return rows.length === 0;
  });
}

test("rotates over accounts, and over the campaigns of each, also with one free slot at a time", async () => {
  const { app, account, trunk_id } = fixture;
  const other = await makeCallingAccount(app);
  await app.db.query.updateTable("trunk_nodes").set({ calls_max: 1 }).execute();
  const launch = async (of: typeof account, count: number, more = {}): Promise<Made> => {
    const campaign = { trunk_id, ...more };
    const { id } = await makeVoiceCampaign(app, of, { campaign, recipients: people(count) });
    return { account_id: of.account_id, id };
  };
  const first = await launch(account, 24);
  const second = await launch(account, 4);
  const others = await launch(other, 4);
  const trial = await launch(account, 1, { is_test: true });
  const leaders = fixture.startLeaders();
  await allCalled([first, second, others, trial]);
  await leaders.stop();
  const called = await order();
  const last = (id: number) => called.lastIndexOf(id);
  assert.equal(called.length, 33);
  assert.ok(last(others.id) < 12, String(called));
  assert.ok(last(second.id) < 20, String(called));
  assert.ok(last(trial.id) < 4, String(called));
});

test("finds other accounts' campaigns behind a thousand campaigns of one account", async () => {
  const { app, account, trunk_id } = fixture;
  const other = await makeCallingAccount(app);
  await app.db.pool.query(
    `with made as (
      insert into call_campaigns (account_id, kind, created_by, created_at)
      select $1, 'voice', $2, now() from generate_series(1, 1000) returning id
    ), launched as (
      insert into voice_campaigns (account_id, id, name, call_type, send_to, voice_file_id, trunk_id, plan,
        state, total, created_by, created_at)
      select $1, id, 'one of many', 'obd_voice_call', 'Numbers', 1, $3, '{}', 'running', 1, $2, now() from made
      returning id
    )
    insert into voice_recipients (account_id, campaign_id, id, number, phone, state, due_at)
    select $1, id, 1, '9800000000', '919800000000', 'waiting', '-infinity' from launched`,
    [account.account_id, account.owner_id, trunk_id],
  );
  const campaign = { trunk_id };
  const { id } = await makeVoiceCampaign(app, other, { campaign, recipients: people(1) });
  const page = { after: { place: 0, account_id: 0 }, rows: 1_000 };
  const found = await findDialable(app.db.pool, [trunk_id], page, app.clock.now());
  await app.db.pool.query("update voice_campaigns set state = 'failed', finished_at = now()");
  assert.ok(found.some(({ campaign_id }) => campaign_id === id));
});

/** Creates a thousand accounts, each with a campaign that has a due recipient. */
async function makeThousandAccounts(set: { night_calling: boolean; call_caps: object }) {
  const { app, trunk_id } = fixture;
  await app.db.pool.query(
    `with owners as (
      insert into accounts (name, features, night_calling, calling_from, calling_to, call_caps, created_at, updated_at)
      select 'one of many', '{voice}', $1, '00:00', '00:00', $2, now(), now() from generate_series(1, 1000)
      returning account_id
    ), made as (
      insert into call_campaigns (account_id, kind, created_by, created_at)
      select account_id, 'voice', 1, now() from owners returning account_id, id
    ), launched as (
      insert into voice_campaigns (account_id, id, name, call_type, send_to, voice_file_id, trunk_id, plan,
        state, total, created_by, created_at)
      select account_id, id, 'one of many', 'obd_voice_call', 'Numbers', 1, $3, '{}', 'running', 1, 1, now() from made
      returning account_id, id
    )
    insert into voice_recipients (account_id, campaign_id, id, number, phone, state, due_at)
    select account_id, id, 1, '9800000000', '919800000000', 'waiting', '-infinity' from launched`,
    [set.night_calling, JSON.stringify(set.call_caps), trunk_id],
  );
}

/** Waits until an account behind a thousand others with these settings has called its recipient. */
async function callsBehind(set: Parameters<typeof makeThousandAccounts>[0]): Promise<void> {
  const { app, trunk_id } = fixture;
  await makeThousandAccounts(set);
  const account = await makeCallingAccount(app);
  const made = { campaign: { trunk_id }, recipients: people(1) };
  const { id } = await makeVoiceCampaign(app, account, made);
  const leaders = fixture.startLeaders();
  await allCalled([{ account_id: account.account_id, id }]);
  await leaders.stop();
  await app.db.pool.query("update voice_campaigns set state = 'failed', finished_at = now()");
}

test("calls the recipients of an account behind a thousand accounts that wait for their calling hours", () =>
  callsBehind({ night_calling: false, call_caps: {} }));

test("calls the recipients of an account behind a thousand accounts that are at their cap", () =>
  callsBehind({ night_calling: true, call_caps: { account: { legs_hour: 0 } } }));

async function optOut(phone: string): Promise<void> {
  const { app, account } = fixture;
  const now = app.clock.now();
  const suppression = {
    account_id: account.account_id,
    person: { phone },
    channel: "voice",
    scope: "all",
    source: "manual",
    reason: "opted out",
    evidence: null,
    occurred_at: now,
    expires_at: null,
    created_by: null,
  } as const;
  await app.db.query.transaction().execute((tx) => suppress(tx, suppression, now));
}

test("does not call a recipient who opted out after the previous node leader died, and counts no attempt", async () => {
  const { app, account, trunk_id, node_id } = fixture;
  const { account_id } = account;
  const [person] = people(1);
  const made = await makeVoiceCampaign(app, account, {
    campaign: { trunk_id },
    recipients: [person!],
  });
  const claim = { ...claimOf, account_id, campaign_id: made.id, trunk_id, node_id };
  const [call] = await claimRecipients(app.db.pool, claim, app.clock.now());
  // The node leader dies here.
  await optOut(call!.to_phone);
  const leaders = fixture.startLeaders();
  await allCalled([{ account_id, id: made.id }]);
  await leaders.stop();
  const row = await app.db.query
    .selectFrom("calls")
    .select(["ended_reason", "ringing_at"])
    .where("account_id", "=", account_id)
    .where("id", "=", call!.id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(row, { ended_reason: "suppressed", ringing_at: null });
  const { body } = await fixture.ask("GET", `/api/v1/voice/campaigns/${made.id}`);
  assert.deepEqual([body.suppressed, body.attempts], [1, 0]);
});

test("does not call a recipient who opts out while the claim waits for a lock", async () => {
  const { app, api, account, trunk_id } = fixture;
  const { account_id } = account;
  const [person] = people(1);
  const leaders = fixture.startLeaders();
  const make = () =>
    makeVoiceCampaign(app, account, { campaign: { trunk_id }, recipients: [person!] });
  const made = await whileBalanceIsLocked(app, account, make, async () => {
    await optOut(person!.phone!);
    api.clock.advance(1_000);
  });
  await allCalled([{ account_id, id: made.id }]);
  await leaders.stop();
  api.clock.release();
  const row = await app.db.query
    .selectFrom("calls")
    .select(["ended_reason", "ringing_at"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", made.id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(row, { ended_reason: "suppressed", ringing_at: null });
});

/** Claims while another transaction has locked the campaign, which then changes it; returns what is claimed. */
async function claimDuring(change: (tx: Tx, campaignId: number) => Promise<unknown>) {
  const { app, account, trunk_id, node_id } = fixture;
  const { account_id } = account;
  const made = await makeVoiceCampaign(app, account, {
    campaign: { trunk_id },
    recipients: people(1),
  });
  const { db, clock } = app;
  const { claiming } = await db.query.transaction().execute(async (tx) => {
    await tx
      .selectFrom("voice_campaigns")
      .select("id")
      .where("account_id", "=", account_id)
      .where("id", "=", made.id)
      .forNoKeyUpdate()
      .execute();
    const claim = { ...claimOf, account_id, campaign_id: made.id, trunk_id, node_id };
    const waiting = claimRecipients(db.pool, claim, clock.now());
    await awaitsLock(db.query);
    await change(tx, made.id);
    return { claiming: waiting };
  });
  return claiming;
}

test("claims no recipient of a campaign that is paused while the claim waits for it", async () => {
  const { account_id } = fixture.account;
  const claimed = await claimDuring((tx, campaign_id) => {
    const held = { account_id, campaign_id, reason: "manual", set_at: fixture.app.clock.now() };
    return tx.insertInto("voice_holds").values(held).execute();
  });
  assert.deepEqual(claimed, []);
});

test("claims no recipient of a campaign that moves to another trunk while the claim waits for it", async () => {
  const { app, account } = fixture;
  const other = await makeTrunk(app, [fixture.node_id], { only_account_id: account.account_id });
  const claimed = await claimDuring((tx, id) =>
    tx
      .updateTable("voice_campaigns")
      .set({ trunk_id: other })
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .execute(),
  );
  await app.db.pool.query("update voice_campaigns set state = 'failed', finished_at = now()");
  assert.deepEqual(claimed, []);
});

test("lets a recipient claimed by a dead node leader wait, uncounted, when the campaign was paused since", async () => {
  const { app, account, trunk_id, node_id } = fixture;
  const { account_id } = account;
  const made = await makeVoiceCampaign(app, account, {
    campaign: { trunk_id },
    recipients: people(1),
  });
  const claim = { ...claimOf, account_id, campaign_id: made.id, trunk_id, node_id };
  await claimRecipients(app.db.pool, claim, app.clock.now());
  // The node leader dies here.
  await fixture.ask("POST", `/api/v1/voice/campaigns/${made.id}/pause`);
  const leaders = fixture.startLeaders();
  const seen = async () => (await fixture.ask("GET", `/api/v1/voice/campaigns/${made.id}`)).body;
  await eventually(async () => (await seen()).in_progress === 0);
  const { pending, attempts, cost } = await seen();
  assert.deepEqual([pending, attempts, cost], [1, 0, 0]);
  await fixture.ask("POST", `/api/v1/voice/campaigns/${made.id}/resume`);
  await allCalled([{ account_id, id: made.id }]);
  await leaders.stop();
  const called = await seen();
  assert.deepEqual([called.pending, called.failed, called.attempts], [0, 1, 1]);
});

test("continues with the credit that unanswered calls release", async () => {
  const { app, trunk_id } = fixture;
  const account = await makeCallingAccount(app, { credits: 2 });
  await app.db.query.updateTable("trunk_nodes").set({ calls_max: 4 }).execute();
  const recipients = people(6, "480");
  const { id } = await makeVoiceCampaign(app, account, { campaign: { trunk_id }, recipients });
  const leaders = fixture.startLeaders();
  await allCalled([{ account_id: account.account_id, id }]);
  await leaders.stop();
  assert.equal((await order()).filter((one) => one === id).length, 6);
});

test("does not let due retries and promised callbacks wait behind 100,000 first calls", async () => {
  const { app, trunk_id, node_id } = fixture;
  const account = await makeCallingAccount(app);
  const { account_id } = account;
  const { id } = await makeVoiceCampaign(app, account, { campaign: { trunk_id }, recipients: [] });
  // The first calls have been due for an hour, the retries and callbacks for a minute.
  await app.db.pool.query(
    `insert into voice_recipients (account_id, campaign_id, id, number, phone, state, due_at, attempts, callbacks)
    select $1, $2, i, lpad(i::text, 10, '0'), '91' || lpad(i::text, 10, '0'), 'waiting',
      $3::timestamptz - case when i > 100000 then interval '1 minute' else interval '1 hour' end,
      case when i > 100000 then 1 else 0 end, case when i > 100040 then 1 else 0 end
    from generate_series(1, 100042) i`,
    [account_id, id, app.clock.now()],
  );
  const claim = { ...claimOf, account_id, campaign_id: id, trunk_id, node_id };
  const take = async (count: number) =>
    (await claimRecipients(app.db.pool, { ...claim, take: count }, app.clock.now())).map(
      ({ voice }) => voice!.recipient_id!,
    );
  assert.deepEqual(await take(1), [100_041]);
  assert.deepEqual(await take(4), [100_042, 100_001, 1, 100_002]);
  // A slot at a time, retries are half of the calls, or more.
  assert.deepEqual(await take(1), [100_003]);
  const most = await take(80);
  assert.equal(most.filter((one) => one > 100_000).length, 37);
  assert.deepEqual(await take(2), [45, 46]);
  await app.db.pool.query("update voice_campaigns set state = 'failed', finished_at = now()");
  await app.db.pool.query("update calls set stage = 'ended' where account_id = $1", [account_id]);
});

test("a claim passes over hundreds of recipients who are suppressed, without a further poll", async () => {
  const { app, trunk_id, node_id } = fixture;
  const account = await makeCallingAccount(app);
  const { account_id } = account;
  const { id } = await makeVoiceCampaign(app, account, { campaign: { trunk_id }, recipients: [] });
  const { pool, query } = app.db;
  const now = app.clock.now();
  // All but the 100th, the 300th and the 301st are suppressed.
  await pool.query(
    `with listed as (
      insert into voice_recipients (account_id, campaign_id, id, number, phone, state, due_at)
      select $1, $2, i, '98' || lpad(i::text, 8, '0'), '9198' || lpad(i::text, 8, '0'), 'waiting', $3
      from generate_series(1, 400) i returning id, phone
    )
    insert into suppressions (account_id, person_key, phone, channel, scope, reason, source, occurred_at, created_at)
    select $1, phone_key(phone), phone, 'voice', 'all', 'test', 'manual', $3, $3 from listed
    where id not in (100, 300, 301)`,
    [account_id, id, now],
  );
  const claim = { ...claimOf, account_id, campaign_id: id, trunk_id, node_id, take: 2 };
  const claimed = await claimRecipients(pool, claim, now);
  assert.deepEqual(
    claimed.map(({ voice }) => voice!.recipient_id),
    [100, 300],
  );
  const { count } = await query
    .selectFrom("voice_recipients")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", id)
    .where("state", "=", "suppressed")
    .executeTakeFirstOrThrow();
  assert.ok(count >= 298 && count < 330, `${count} suppressed`);
  await pool.query("update voice_campaigns set state = 'failed', finished_at = now()");
  await pool.query("update calls set stage = 'ended' where account_id = $1", [account_id]);
});
