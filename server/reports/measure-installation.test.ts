import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { makeAccount, makeCredits, type TestAccount } from "../../test/support/account-factory.ts";
import { makeEndpoint } from "../../test/support/callback-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-factory.ts";
import { addJob } from "../engine/add-job.ts";
import { recognizeDatabase } from "../engine/database-identity.ts";
import { acquireLease } from "../engine/leases.ts";
import { openMetrics } from "../lib/metrics.ts";
import { openInstallationGauges } from "./measure-installation.ts";

let api: TestApi;
let account: TestAccount;
before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const query = (text: string, values: unknown[] = []) => api.app.db.pool.query(text, values);
const hourAgo = () => new Date(api.clock.now().getTime() - 3_600_000);

/** Opens the gauges of a process; returns a reading of them, each series by its name and labels. */
function openGauges(app: Parameters<typeof openInstallationGauges>[0] = api.app) {
  const metrics = openMetrics();
  const measure = openInstallationGauges(app, metrics);
  return async () => {
    await measure();
    const text = await metrics.registry.metrics();
    const series = text.split("\n").flatMap((line) => {
      const [, name, value] = /^trunkline_(\S+) (\S+)$/.exec(line) ?? [];
      return name ? [[name, Number(value)] as const] : [];
    });
    return Object.fromEntries(series) as Record<string, number>;
  };
}

test("backlogs grow with what no worker does, and not with what one holds", async () => {
  const read = openGauges();
  const { account_id, owner_id } = account;
  const at = hourAgo();
  await query(
    "update accounts set retention_due_at = now() + interval '1 day', recordings_due_at = now() + interval '1 day'",
  );
  const quiet = await read();
  for (const work of ["chat_webhooks", "callbacks", "chat_campaigns", "retention"])
    assert.equal(quiet[`backlog_seconds{work="${work}"}`], 0, work);

  const number = await makeChatNumber(api.app, account);
  await query(
    `insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
     values ($1, $2, 'sandbox', '[]', $3, $3)`,
    [account_id, number.id, at],
  );
  await query(
    `insert into callback_endpoints (account_id, kind, url, secret, work_at, failing_since, created_by, created_at, updated_at)
     values ($1, 'account', 'https://x.example', '', $2, $2, $3, $2, $2)`,
    [account_id, at, owner_id],
  );
  await query("update accounts set retention_due_at = $1", [at]);
  const waiting = await read();
  for (const work of ["chat_webhooks", "callbacks", "retention"])
    assert.equal(Math.floor(waiting[`backlog_seconds{work="${work}"}`]! / 60), 60, work);
  assert.equal(waiting["callback_endpoints_failing"], 1);
  const { rows } = await query("select id from callback_endpoints where account_id = $1", [
    account_id,
  ]);
  const lease = await acquireLease(api.app, account_id, `callbacks:${rows[0].id}`);
  assert.equal((await read())['backlog_seconds{work="callbacks"}'], 0);
  await lease!.release();
});

test("a lease that is taken over is counted, one that is kept or released and acquired again is not", async () => {
  const read = openGauges();
  const [held, takeovers] = ["leases_held", "lease_takeovers_total"].map(
    (metric) => `${metric}{role="voice_node"}`,
  ) as [string, string];
  const { account_id } = account;
  const acquire = async () => (await acquireLease(api.app, account_id, "voice_node:1"))!;
  let lease = await acquire();
  assert.deepEqual([(await read())[takeovers], (await read())[takeovers]], [0, 0]);
  for (let i = 0; i < 10; i++) {
    await lease.release();
    lease = await acquire();
  }
  const released = await read();
  assert.deepEqual([released[takeovers], released[held]], [0, 1]);
  await lease.abandon();
  lease = await acquire();
  const taken = await read();
  assert.deepEqual([taken[takeovers], taken[held]], [1, 1]);
  await lease.release();
});

test("an account's reads from the primary count as no held lease", async () => {
  const read = openGauges();
  await query(
    `insert into leases (account_id, name, fence, expires_at)
     values ($1, 'primary_reads', 0, now() + interval '1 minute')`,
    [account.account_id],
  );
  const series = Object.keys(await read()).filter((name) => name.includes("primary_reads"));
  assert.deepEqual(series, []);
});

test("a database that waits for an operator, and one that does not answer, are reported", async () => {
  const { db, clock, log } = api.app;
  const read = openGauges();
  await recognizeDatabase(db, clock.now());
  assert.equal((await read())["database_unconfirmed"], 0);
  await query("update database_identity set changed_at = now()");
  const changed = await read();
  assert.deepEqual([changed["database_up"], changed["database_unconfirmed"]], [1, 1]);
  const pool = { query: () => Promise.reject(new Error("no answer")) };
  const away = await openGauges({ db: { ...db, pool: pool as never }, clock, log })();
  assert.deepEqual([away["database_up"], away["database_unconfirmed"]], [0, 0]);
});

test("a frozen account's waiting work, holds and failing endpoints do not count", async () => {
  const read = openGauges();
  const { app } = api;
  const moved = await makeAccount(app);
  const { account_id } = moved;
  const at = hourAgo();
  await makeCredits(app, moved, { chat: 10 });
  const number = await makeChatNumber(app, moved);
  const template = await makeChatTemplate(app, moved, number);
  await makeChatCampaign(app, moved, number, template, [{ phone: "919800000001" }]);
  await makeEndpoint(app, moved);
  await addJob(
    app.db.query,
    { account_id, kind: "voice.start_campaign", subject: "1", run_at: at },
    at,
  );
  for (const text of [
    `insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
     values ($1, 1, 'sandbox', '[]', $2, $2)`,
    "update callback_endpoints set work_at = $2, failing_since = $2 where account_id = $1",
    "update chat_campaigns set work_at = $2 where account_id = $1",
    `insert into chat_holds (account_id, scope, subject_id, reason, set_at)
     values ($1, 'account', 0, 'manual', $2)`,
    `insert into voice_holds (account_id, campaign_id, reason, set_at) values ($1, 1, 'manual', $2)`,
  ])
    await query(text, [account_id, at]);
  const series = [
    'backlog_seconds{work="jobs"}',
    'backlog_seconds{work="chat_webhooks"}',
    'backlog_seconds{work="callbacks"}',
    'backlog_seconds{work="chat_campaigns"}',
    'holds{channel="chat",reason="manual"}',
    'holds{channel="voice",reason="manual"}',
    "callback_endpoints_failing",
  ];
  const active = await read();
  for (const name of series) assert.ok(active[name]! > 0, name);
  // With the accounts of the other tests.
  await query("update accounts set frozen_at = $1", [at]);
  const frozen = await read();
  for (const name of series) assert.equal(frozen[name] ?? 0, 0, name);
});
