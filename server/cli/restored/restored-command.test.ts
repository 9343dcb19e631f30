import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
} from "../../../test/support/chat-factory.ts";
import { cloneDatabase, emptyDatabase } from "../../../test/support/database.ts";
import { test_secret_key } from "../../../test/support/secrets.ts";
import { makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import { addJob } from "../../engine/add-job.ts";
import {
  openIdentityCheck,
  readKnownDatabase,
  recognizeDatabase,
  recordWorker,
} from "../../engine/database-identity.ts";
import { acquireLease } from "../../engine/leases.ts";
import { openDatabase, type Database } from "../../lib/database/database.ts";
import { openLog } from "../../lib/log.ts";
import { runCommandLine } from "../run-command-line.ts";

let api: TestApi;
let account: TestAccount;
before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 10_000, call: 100 });
});
after(() => api.close());

const run = (...args: string[]) => runOn(api.database_url, ...args);
const runOn = (url: string, ...args: string[]) =>
  runCommandLine(["restored", ...args], {
    DATABASE_URL: url,
    TRUNKLINE_SECRET_KEY: test_secret_key,
    LEASE_SECONDS: "1",
  });
const query = async (text: string, values: unknown[] = []) =>
  (await api.app.db.pool.query(text, values)).rows;
const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000);

/** Makes the database one that a worker last saw at this time, and that was restored or failed over since. */
async function restoreDatabase(changed: "system_identifier" | "timeline" | "oids", seen_at: Date) {
  await recognizeDatabase(api.app.db, new Date());
  await query(`update database_identity set ${changed} = 'another', seen_at = $1`, [seen_at]);
  return recognizeDatabase(api.app.db, new Date());
}

test("a restored database is recognized once: its IDs advance, and its workers wait for an operator", async () => {
  const nextLeadId = async () =>
    Number((await query("select nextval(pg_get_serial_sequence('leads', 'id')) as id"))[0].id);
  const { account_id } = account;
  const eventHead = async () =>
    Number((await query("select seq from event_heads where account_id = $1", [account_id]))[0].seq);
  await query("insert into event_heads (account_id, seq) values ($1, 1200)", [account_id]);
  for (const changed of ["system_identifier", "timeline", "oids"] as const) {
    const seen_at = secondsAgo(60);
    const [before_id, before_head] = [await nextLeadId(), await eventHead()];
    assert.equal(await restoreDatabase(changed, seen_at), true);
    const id = await nextLeadId();
    assert.ok(id > before_id + 1_000_000, `${before_id}, ${id}`);
    assert.ok((await eventHead()) > before_head + 1_000_000, "positions of live events advance");
    assert.equal(await recognizeDatabase(api.app.db, new Date()), true, "for every process");
    assert.equal(await nextLeadId(), id + 1, "the IDs advance once");
    assert.equal(await recordWorker(api.app), false);
    assert.deepEqual((await readKnownDatabase(api.app.db)).seen_at, seen_at);
    assert.equal((await run("--nothing-lost")).code, 0);
    assert.equal(await recordWorker(api.app), true);
    assert.equal(await recognizeDatabase(api.app.db, new Date()), false);
  }
});

test("a dump that is restored on the same server is recognized, also into the same database", async () => {
  const original = await cloneDatabase();
  const restored = await emptyDatabase();
  const recognize = (url: string, text?: string) =>
    withDatabase(url, async (db) => {
      if (text) await db.pool.query(text);
      return recognizeDatabase(db, new Date());
    });
  try {
    assert.equal(await recognize(original.url), false);
    assert.equal(await recognize(original.url), false);
    await copyDatabase(original.url, restored.url);
    assert.equal(await recognize(restored.url), true, "into a new database");
    // As pg_restore --clean does.
    const recreate = `
      create table copied (like database_identity including all);
      insert into copied select * from database_identity;
      drop table database_identity;
      alter table copied rename to database_identity`;
    assert.equal(await recognize(original.url, recreate), true, "into the same database");
    const clear = "update database_identity set oids = null, changed_at = null";
    assert.equal(await recognize(restored.url, clear), false, "of an earlier version");
    const { rows } = await withDatabase(restored.url, (db) =>
      db.pool.query("select oids from database_identity"),
    );
    assert.match(rows[0].oids, /^\d+ \d+$/);
  } finally {
    await Promise.all([original.drop(), restored.drop()]);
  }
});

async function withDatabase<Answer>(url: string, work: (db: Database) => Promise<Answer>) {
  const db = openDatabase(url, openLog("silent", { readable: false }));
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

/** Makes the second database a copy of the first, with the same OIDs of its tables. */
async function copyDatabase(from: string, to: string): Promise<void> {
  const [source, target] = [from, to].map((url) => new URL(url).pathname.slice(1));
  await query(`drop database ${target}`);
  await query(`create database ${target} template ${source}`);
}

test("a process works on with one database, and refuses the connection of another", async () => {
  const client = (timeline: string, oids: string) => ({
    query: async () => ({ rows: [{ system_identifier: "1", timeline, oids }] }),
  });
  let changes = 0;
  const check = openIdentityCheck(() => changes++);
  for (const timeline of ["1", "1"]) await check(client(timeline, "5 6") as never);
  assert.equal(changes, 0);
  for (const [timeline, oids] of [
    ["2", "5 6"],
    ["1", "5 7"],
  ] as const)
    await assert.rejects(check(client(timeline, oids) as never), { code: "08006" });
  assert.equal(changes, 2);
  // A provider that does not reveal it is served all the same.
  const refused = {
    query: async (text: string) => {
      if (text.includes("pg_control_system"))
        throw Object.assign(new Error("no"), { code: "0A000" });
      return api.app.db.pool.query(text);
    },
  };
  const another = openIdentityCheck(() => changes++);
  for (let i = 0; i < 2; i++) await another(refused as never);
  assert.equal(changes, 2);
});

test("restored holds what may have been sent: campaigns pause, queued calls end, the first of the queue are in doubt", async () => {
  const { account_id } = account;
  const number = await makeChatNumber(api.app, account);
  const template_id = await makeChatTemplate(api.app, account, number);
  const people = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ phone: `9198${String(i).padStart(8, "0")}` }));
  const [large, later, ended] = await Promise.all(
    [2_000, 3, 3].map((count) =>
      makeChatCampaign(api.app, account, number, template_id, people(count)),
    ),
  );
  await query("update chat_numbers set rate_per_second = 10 where id = $1", [number.id]);
  await query(
    "update chat_campaigns set state = 'scheduled', scheduled_at = now() + interval '1 day' where id = $1",
    [later],
  );
  await query("update chat_campaigns set state = 'cancelled', finished_at = now() where id = $1", [
    ended,
  ]);
  const voice = await makeVoiceCampaign(api.app, account);
  const due = await makeCall(api.app, account, { call: { due_at: secondsAgo(40) } });
  const tomorrow = new Date(Date.now() + 86_400_000);
  const promised = await makeCall(api.app, account, { call: { due_at: tomorrow } });
  const notice = { account_id, kind: "chat.notify_call", subject: "1", run_at: tomorrow } as const;
  await addJob(api.app.db.query, notice, new Date());
  const seen_at = secondsAgo(60);
  await restoreDatabase("timeline", seen_at);

  const until = new Date(seen_at.getTime() + 30_000).toISOString();
  const { code, stdout, stderr } = await run("--until", until, "--json");
  assert.equal(code, 0, stderr);
  const { held } = JSON.parse(stdout);
  // 10 a second in 30 s and the margin of 5 s.
  assert.ok(held.recipients_in_doubt >= 350 && held.recipients_in_doubt <= 352, stdout);
  assert.deepEqual(held, {
    chat_campaigns: 2,
    recipients_in_doubt: held.recipients_in_doubt,
    voice_campaigns: 1,
    calls_cancelled: 1,
    live_calls_ended: 0,
    notifications_dropped: 1,
  });
  const states = await query(
    `select campaign_id as id, state, count(*)::int, min(dispatches), max(r.id) - min(r.id) + 1 as span
     from chat_recipients r where account_id = $1 group by 1, 2 order by 1, 2`,
    [account_id],
  );
  const doubted = held.recipients_in_doubt;
  assert.deepEqual(
    states.map(({ id, state, count }) => [id, state, count]),
    [
      [large, "dispatching", doubted],
      [large, "queued", 2_000 - doubted],
      [later, "queued", 3],
      [ended, "queued", 3],
    ].toSorted((a, b) => Number(a[0]) - Number(b[0])),
  );
  const dispatching = states.find(({ state }) => state === "dispatching");
  // The first of the queue, under the ID that their message had.
  assert.deepEqual([dispatching.span, dispatching.min], [doubted, 1]);
  const holds = await query(
    `select subject_id as id, reason, detail from chat_holds where account_id = $1
     union all select campaign_id, reason, detail from voice_holds where account_id = $1`,
    [account_id],
  );
  assert.deepEqual(
    new Set(holds.map(({ id, reason }) => `${id} ${reason}`)),
    new Set([`${large} manual`, `${later} manual`, `${voice.id} manual`]),
  );
  for (const { detail } of holds) assert.match(detail, /^The database was restored/);
  const calls = await query(
    "select id, stage, ended_reason from calls where account_id = $1 order by id",
    [account_id],
  );
  assert.deepEqual(calls, [
    { id: due.id, stage: "ended", ended_reason: "too_late" },
    { id: promised.id, stage: "queued", ended_reason: null },
  ]);
  const audit = await query(
    "select detail from audit_entries where account_id = $1 and action = 'database.restored'",
    [account_id],
  );
  assert.equal(audit[0].detail.until, until);
  assert.equal(await recordWorker(api.app), true, "the workers start");
});

test("restored also holds recipients who were queued again and those behind suppressed ones, as many as the rate allows", async () => {
  const other = await makeAccount(api.app);
  await makeCredits(api.app, other, { chat: 1_000 });
  const number = await makeChatNumber(api.app, other, { rate_per_second: 1 });
  const template_id = await makeChatTemplate(api.app, other, number);
  const people = Array.from({ length: 200 }, (_, i) => ({ phone: String(919_700_000_000 + i) }));
  const campaign = await makeChatCampaign(api.app, other, number, template_id, people);
  const seen_at = secondsAgo(60);
  const until = new Date(seen_at.getTime() + 30_000);
  // The first 80 were queued again, ten of them for the second time; ten of the others are suppressed now, and five of
  // these no longer at the end of the lost time.
  await query(
    `update chat_recipients set dispatches = case when phone >= '919700000070' then 2 else 1 end
     where account_id = $1 and campaign_id = $2 and phone < '919700000080'`,
    [other.account_id, campaign],
  );
  for (let i = 80; i < 90; i++)
    await makeSuppression(api.app, other, people[i]!.phone, {
      scope: "marketing",
      ...(i < 85 ? {} : { expires_at: until }),
    });
  await query("update chat_templates set category = 'MARKETING' where id = $1", [template_id]);
  await restoreDatabase("timeline", seen_at);
  const { code, stderr } = await run("--until", until.toISOString());
  assert.equal(code, 0, stderr);
  const rows = await query(
    `select phone from chat_recipients
     where account_id = $1 and campaign_id = $2 and state = 'dispatching' order by id`,
    [other.account_id, campaign],
  );
  const doubted = (from: number, count: number) =>
    people.slice(from, from + count).map(({ phone }) => phone);
  // One a second in 30 s and the margin of 5 s.
  const expected = [...doubted(0, 35), ...doubted(70, 10), ...doubted(85, 35)];
  assert.deepEqual(
    rows.map(({ phone }) => phone),
    expected,
  );
});

test("restored holds nothing that was created after the restore, when no worker ran", async () => {
  const other = await makeAccount(api.app);
  await makeCredits(api.app, other, { chat: 100, call: 10 });
  const number = await makeChatNumber(api.app, other);
  const template_id = await makeChatTemplate(api.app, other, number);
  await restoreDatabase("timeline", secondsAgo(120));
  await query("update database_identity set changed_at = $1", [secondsAgo(60)]);
  const people = [{ phone: "919750000001" }];
  const chat = await makeChatCampaign(api.app, other, number, template_id, people);
  const voice = await makeVoiceCampaign(api.app, other);
  const call = await makeCall(api.app, other, {
    call: { queued_at: secondsAgo(20), due_at: secondsAgo(20) },
  });
  const { code, stderr } = await run();
  assert.equal(code, 0, stderr);
  const states = await query(
    `select id, state from chat_recipients where account_id = $1
     union all select id, stage from calls where account_id = $1`,
    [other.account_id],
  );
  assert.deepEqual(
    states.map(({ state }) => state),
    ["queued", "queued"],
    `${chat} ${call.id}`,
  );
  const holds = await query(
    `select subject_id from chat_holds where account_id = $1
     union all select campaign_id from voice_holds where account_id = $1`,
    [other.account_id],
  );
  assert.deepEqual(holds, [], `${voice.id}`);
});

test("restored holds from --since what a replaced node may have lost, though the database itself was not restored", async () => {
  const other = await makeAccount(api.app);
  await makeCredits(api.app, other, { chat: 1_000 });
  const number = await makeChatNumber(api.app, other, { rate_per_second: 1 });
  const template_id = await makeChatTemplate(api.app, other, number);
  const people = Array.from({ length: 200 }, (_, i) => ({ phone: String(919_800_000_000 + i) }));
  const campaign = await makeChatCampaign(api.app, other, number, template_id, people);
  await recognizeDatabase(api.app.db, new Date());
  await query("update database_identity set seen_at = $1", [secondsAgo(15)]);
  const [since, until] = [secondsAgo(60), secondsAgo(30)].map((time) => time.toISOString());
  const { code, stderr } = await run("--since", since!, "--until", until!);
  assert.equal(code, 0, stderr);
  const [held] = await query(
    `select count(*)::int from chat_recipients
     where account_id = $1 and campaign_id = $2 and state = 'dispatching'`,
    [other.account_id, campaign],
  );
  // One a second in 30 s and the margin of 5 s.
  assert.equal(held.count, 35);
});

test("restored finishes also when a statement takes longer than others may", async () => {
  const other = await makeAccount(api.app);
  await makeVoiceCampaign(api.app, other);
  await restoreDatabase("timeline", secondsAgo(60));
  await query(`
    create function delay() returns trigger language plpgsql as $$
    declare
      slept text := pg_sleep(3)::text;
    begin
      return new;
    end $$`);
  await query(`
    create trigger delays before insert on audit_entries for each row
    when (new.action = 'database.restored' and new.account_id = ${other.account_id}) execute function delay()`);
  const url = new URL(api.database_url);
  // Of the pool's 12 s.
  url.searchParams.set("query_timeout", "2000");
  const { code, stderr } = await runOn(url.href);
  await query("drop function delay cascade");
  assert.equal(code, 0, stderr);
  assert.equal(await recordWorker(api.app), true);
});

test("restored refuses while a worker runs, a time that the database knows, and one in the future", async () => {
  await restoreDatabase("timeline", secondsAgo(60));
  const lease = await acquireLease(api.app, account.account_id, "chat_sender:7");
  const running = await run();
  await lease!.release();
  assert.deepEqual([running.code, running.stderr.includes("stop every process")], [1, true]);
  for (const until of [secondsAgo(90), secondsAgo(-90)])
    assert.equal((await run("--until", until.toISOString())).code, 2);
  assert.equal((await run("--until", "noon")).code, 2);
  const late = await run("--since", secondsAgo(30).toISOString());
  assert.deepEqual([late.code, /--since must not be after .* knows/.test(late.stderr)], [2, true]);
  assert.equal(await recordWorker(api.app), false);
  assert.equal((await run("--nothing-lost")).code, 0);
  assert.equal(await recordWorker(api.app), true);
  const idle = await run();
  assert.deepEqual([idle.code, idle.stderr.includes("stop every process")], [1, true]);
});
