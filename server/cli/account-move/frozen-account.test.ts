import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { makeDelivery, makeEndpoint } from "../../../test/support/callback-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { openTestWhatsapp, statusHook } from "../../../test/support/chat-webhooks.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import { makePhoneNumber, makeSandboxTrunk } from "../../../test/support/telephony-factory.ts";
import { makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { test_secret_key } from "../../../test/support/secrets.ts";
import { startSlowWrite } from "../../../test/support/slow-write.ts";
import { freezeAccount, unfreezeAccount } from "../../accounts/accounts/freeze-account.ts";
import { accountTokensSubject } from "../../accounts/tokens/token-directory.ts";
import { endOverdueCalls } from "../../calls/controls/end-overdue-calls.ts";
import { addJob } from "../../engine/add-job.ts";
import { acquireLease } from "../../engine/leases.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { openDatabase } from "../../lib/database/database.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { moveStrandedCampaigns } from "../../voice/campaigns/move-stranded-campaigns.ts";
import { runCommandLine } from "../run-command-line.ts";
import { drainAccount } from "./drain-account.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi({ chatDrivers: { whatsapp: openTestWhatsapp() } });
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 10, call: 10 });
});
after(() => api.close());

const actorOf = ({ account_id }: TestAccount) => ({
  account_id,
  user_id: null,
  token_id: null,
  request_id: "req_test",
});

const change = (effect: typeof freezeAccount | typeof unfreezeAccount, of: TestAccount) =>
  api.app.db.query
    .transaction()
    .execute(async (tx) => void (await effect(tx, actorOf(of), api.clock.now())));

const ask = (path: string, json: object) =>
  api.send("POST", path, { json, headers: { "sec-fetch-site": "same-origin" } });

/** Runs the work while the account is frozen. */
async function whileFrozen(of: TestAccount, work: () => Promise<void>): Promise<void> {
  await change(freezeAccount, of);
  try {
    await work();
  } finally {
    await change(unfreezeAccount, of);
  }
}

const run = (...args: string[]) =>
  runCommandLine(args, {
    DATABASE_URL: api.database_url,
    PORT: "0",
    TRUNKLINE_SECRET_KEY: test_secret_key,
    TRUNKLINE_EXPORT_PASSPHRASE: "a passphrase of the test",
  });

test("a frozen account's senders, deliverers and appliers get no lease, and those that run claim nothing", async () => {
  const { app } = api;
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const campaign = await makeChatCampaign(app, account, number, template, [
    { phone: "919800000001" },
  ]);
  const endpoint = await makeEndpoint(app, account);
  // Besides that of the campaign.
  await makeDelivery(app, account, endpoint.id);
  const names = [`chat_sender:${number.id}`, `callbacks:${endpoint.id}`] as const;
  const leases = await Promise.all(
    names.map((name) => acquireLease(app, account.account_id, name)),
  );
  const [sender, deliverer] = leases.map((lease) => lease!.fence);
  const now = api.clock.now();
  const claim = async () => {
    const messages = await app.db.pool.query(
      "select from record_and_claim_messages($1, $2, $3, '[]', $4, 10, 0, $5)",
      [account.account_id, number.id, sender, campaign, now],
    );
    const deliveries = await app.db.pool.query<{ due: unknown[] }>(
      "select record_and_claim_deliveries($1, $2, $3, '[]', null, 10, '{}', $4) -> 'due' as due",
      [account.account_id, endpoint.id, deliverer, now],
    );
    return [messages.rows.length, deliveries.rows[0]!.due.length];
  };
  await whileFrozen(account, async () => {
    assert.deepEqual(await claim(), [0, 0]);
    assert.equal(await acquireLease(app, account.account_id, "chat_inbound:1"), null);
  });
  assert.deepEqual(await claim(), [1, 2]);
  for (const lease of leases) await lease!.release();
});

test("a frozen account's calls and jobs wait, and its number receives no call", async () => {
  const { app } = api;
  const call = await makeCall(app, account);
  await makePhoneNumber(app, account, "918012345678");
  const job = {
    account_id: account.account_id,
    kind: "voice.start_campaign",
    subject: "1",
  } as const;
  const now = api.clock.now();
  await addJob(app.db.query, { ...job, run_at: now }, now);
  const claim = async () => {
    const { rows } = await app.db.pool.query<{ trunk_id: number }>(
      "select trunk_id from calls where account_id = $1 and id = $2",
      [account.account_id, call.id],
    );
    const calls = await app.db.pool.query("select from claim_calls($1, $2, $3, 1, 10, $4)", [
      account.account_id,
      call.node_id,
      rows[0]!.trunk_id,
      now,
    ]);
    const handlers = { "voice.start_campaign": async () => {} };
    const jobs = await workJobs(app, handlers, new AbortController().signal);
    const called = await app.db.pool.query("select from find_called_number('918012345678')");
    return [calls.rows.length, jobs, called.rows.length];
  };
  await whileFrozen(account, async () => assert.deepEqual(await claim(), [0, 0, 0]));
  assert.deepEqual(await claim(), [1, 1, 1]);
  const frozen = await run("account", "freeze", String(account.account_id), "--wait", "0");
  assert.equal(frozen.code, 1);
  assert.match(frozen.stderr, /is frozen, but not at rest yet: 1 live calls/);
  const file = join(tmpdir(), unique(`trunkline-export-${process.pid}`));
  const options = ["--freeze", "--wait", "0"];
  const exported = await run("account", "export", String(account.account_id), file, ...options);
  assert.match(exported.stderr, /1 live calls/);
  assert.equal(existsSync(file), false);
  assert.equal((await run("account", "unfreeze", String(account.account_id))).code, 0);
});

test("a frozen account's calls do not end as too late and its campaigns do not pause; after the freeze, the late call is not placed", async () => {
  const { app, clock } = api;
  const owner = await makeAccount(app);
  const { account_id } = owner;
  await makeCredits(app, owner, { call: 1_000 });
  const { trunk_id } = await makeSandboxTrunk(app, owner);
  const line = { trunk_id, caller_id: "9000000001" };
  const campaign = await makeVoiceCampaign(app, owner, { campaign: line });
  const due_at = new Date(clock.now().getTime() - 2 * 3_600_000);
  const { id } = await makeCall(app, owner, { call: { due_at } });
  const iterate = async () => {
    await endOverdueCalls(app);
    await moveStrandedCampaigns(app);
    const { body } = await api.send("GET", `/api/v1/calls/${id}`, { token: owner.token });
    const events = await app.db.query
      .selectFrom("events")
      .select("type")
      .where("account_id", "=", account_id)
      .orderBy("id")
      .execute();
    const holds = await app.db.query
      .selectFrom("voice_holds")
      .select("reason")
      .where("account_id", "=", account_id)
      .where("campaign_id", "=", campaign.id)
      .execute();
    return [body.status, body.ended_reason, events.map(({ type }) => type), holds];
  };
  await whileFrozen(owner, async () => assert.deepEqual(await iterate(), ["queued", null, [], []]));
  assert.deepEqual(await iterate(), [
    "canceled",
    "too_late",
    ["call.completed", "voice.campaign.paused"],
    [{ reason: "trunk" }],
  ]);
});

test("the late calls of an account that is frozen for a day end, so that no placement on their node reads past them", async () => {
  const { app, clock } = api;
  const owner = await makeAccount(app);
  const { account_id } = owner;
  await makeCredits(app, owner, { call: 1_000 });
  const hours = (count: number) => new Date(clock.now().getTime() + count * 3_600_000);
  const late = await makeCall(app, owner, { call: { due_at: hours(-2) } });
  const later = await makeCall(app, owner, { call: { due_at: hours(2) } });
  const stagesAfter = async (frozen_at: Date | null) => {
    await app.db.query
      .updateTable("accounts")
      .set({ frozen_at })
      .where("account_id", "=", account_id)
      .execute();
    await endOverdueCalls(app);
    const calls = await app.db.query
      .selectFrom("calls")
      .select(["id", "stage", "ended_reason"])
      .where("account_id", "=", account_id)
      .orderBy("id")
      .execute();
    return calls.map(({ id, stage, ended_reason }) => [id, stage, ended_reason]);
  };
  const waiting = [later.id, "queued", null];
  assert.deepEqual(await stagesAfter(hours(-23)), [[late.id, "queued", null], waiting]);
  assert.deepEqual(await stagesAfter(hours(-25)), [[late.id, "ended", "too_late"], waiting]);
  assert.deepEqual(await stagesAfter(null), [[late.id, "ended", "too_late"], waiting]);
});

test("writes of a frozen account are 503 in the shape of their route, also one whose body was on its way; reads go on", async () => {
  const owner = await makeAccount(api.app);
  const slow = startSlowWrite(`${api.url}/api/v1/crm/workspaces`, {
    method: "POST",
    token: owner.token,
    json: { name: unique("w") },
  });
  await whileFrozen(owner, async () => {
    api.app.notifications.send("token", accountTokensSubject(owner.account_id));
    await eventually(async () => {
      const { status, body } = await api.send("POST", "/api/v1/clickToCallApis/clickToCall", {
        token: owner.token,
        json: { from_number: "101", to_number: "9876543210" },
      });
      return status === 503 && /frozen/.test(body.message);
    });
    const read = await api.send("GET", "/api/v1/crm/workspaces", { token: owner.token });
    assert.equal(read.status, 200);
    const head = await api.send("HEAD", "/api/v1/crm/workspaces", { token: owner.token });
    assert.equal(head.status, read.status);
    const me = await api.send("GET", "/api/v1/me", { token: owner.token });
    assert.equal(me.body.account.frozen, true);
    assert.equal(await slow.finish(), 503);
  });
});

test("a write that waited for another one with its key while the account was frozen is 503 and stores nothing", async () => {
  const owner = await makeAccount(api.app);
  const { account_id, token } = owner;
  const key = unique("key");
  const twin = new pg.Client({ connectionString: api.database_url });
  await twin.connect();
  try {
    await twin.query("begin");
    await twin.query(
      `insert into idempotency_keys (account_id, endpoint, key, request_sha256, status, response, created_at)
       values ($1, 'createWorkspace', $2, '', 201, '', now())`,
      [account_id, key],
    );
    const from_ms = performance.now();
    const waiting = api.send("POST", "/api/v1/crm/workspaces", {
      token,
      json: { name: unique("w") },
      headers: { "idempotency-key": key },
    });
    await awaitsLock(api.app.db.query);
    await whileFrozen(owner, async () => {
      await eventually(async () => performance.now() - from_ms > 1_000);
      await twin.query("rollback");
      const { status, text } = await waiting;
      assert.equal(status, 503, text);
    });
  } finally {
    await twin.end();
  }
  const stored = await api.app.db.pool.query(
    "select from idempotency_keys where account_id = $1 and key = $2",
    [account_id, key],
  );
  assert.equal(stored.rowCount, 0);
});

test("an upload that waited for another one while the account was frozen is 503 and stores nothing", async (t) => {
  const owner = await makeAccount(api.app);
  const { account_id, token, workspace_id } = owner;
  const group = await api.send("POST", "/api/v1/groups", { token, json: { name: unique("g") } });
  const files = [
    [`crm/workspaces/${workspace_id}/leads/import`, { columnMap: '{"phone":"phone"}' }],
    ["suppressions/import", {}],
    [`groups/${group.body.id}/members/import`, {}],
  ] as const;
  const waits = t.mock.method(csvParsing, "use");
  const { promise: first, resolve: end } = Promise.withResolvers<void>();
  const ended = csvParsing.use(account_id, () => first);
  const uploads = files.map(([path, fields]) => {
    const raw = new FormData();
    for (const [name, value] of Object.entries(fields)) raw.set(name, value);
    raw.set("file", new Blob(["phone\n9876543210\n"]), "people.csv");
    return api.send("POST", `/api/v1/${path}`, { token, raw });
  });
  await eventually(() => waits.mock.callCount() === 1 + files.length);
  await whileFrozen(owner, async () => {
    end();
    await ended;
    for (const upload of uploads) {
      const { status, text } = await upload;
      assert.equal(status, 503, text);
    }
  });
  for (const table of ["lead_imports", "suppressions", "group_members"])
    assert.deepEqual(
      (await api.app.db.pool.query(`select from ${table} where account_id = $1`, [account_id]))
        .rows,
      [],
      table,
    );
});

test("an invitation to a frozen account and a new password by a link are 503, and both links work afterwards", async () => {
  const owner = await makeAccount(api.app);
  const { token } = owner;
  const email = () => `${unique("person")}@test.example`;
  const create = async (path: string, json: object = {}) =>
    (await api.send("POST", path, { token, json })).body;
  const invitation = await create("/api/v1/invitations", { email: email() });
  const user = await create("/api/v1/users", { name: "Ravi", email: email() });
  const sign_in = await create(`/api/v1/users/${user.id}/sign-in-link`);
  const linkIn = ({ path }: { path: string }) => path.split("#")[1];
  const password = "correct horse battery";
  const accept = async () => {
    const answers = await Promise.all([
      ask("/api/v1/session/invitation", { link: linkIn(invitation), name: "Asha", password }),
      ask("/api/v1/session/link", { link: linkIn(sign_in), password }),
    ]);
    return answers.map(({ status }) => status);
  };
  await whileFrozen(owner, async () => assert.deepEqual(await accept(), [503, 503]));
  assert.deepEqual(await accept(), [200, 200]);
});

test("a person signs in to a frozen account, ends a session elsewhere and signs out", async () => {
  const owner = await makeAccount(api.app);
  const { token } = owner;
  const email = `${unique("person")}@test.example`;
  const user = await api.send("POST", "/api/v1/users", { token, json: { name: "Ravi", email } });
  const signIn = async () => {
    const { body } = await api.send("POST", `/api/v1/users/${user.body.id}/sign-in-link`, {
      token,
    });
    const { headers } = await ask("/api/v1/session/link", { link: body.path.split("#")[1] });
    return { cookie: headers.getSetCookie()[0]!.split(";")[0]!, "sec-fetch-site": "same-origin" };
  };
  const sessions = [await signIn(), await signIn()];
  await signIn();
  await whileFrozen(owner, async () => {
    api.app.notifications.send("token", accountTokensSubject(owner.account_id));
    const readMe = (at: number) => api.send("GET", "/api/v1/me", { headers: sessions[at]! });
    await eventually(async () => (await readMe(0)).body.account.frozen);
    const own = await api.send("GET", "/api/v1/sessions", { headers: sessions[0]! });
    const ids: number[] = own.body.data.map(({ id }: { id: number }) => id);
    const elsewhere = `/api/v1/sessions/${Math.max(...ids)}`;
    assert.equal((await api.send("DELETE", elsewhere, { headers: sessions[0]! })).status, 204);
    const out = ["/api/v1/session", "/api/v1/sessions"];
    for (const [at, path] of out.entries()) {
      const { status } = await api.send("DELETE", path, { headers: sessions[at]! });
      assert.equal(status, 200);
      await eventually(async () => (await readMe(at)).status === 401);
    }
  });
});

test("a webhook of a frozen account is 503, so that the provider repeats it, and other accounts' are stored", async () => {
  const frozen = await makeAccount(api.app);
  const number = await makeChatNumber(api.app, frozen, { driver: "whatsapp" });
  const others = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const hooks = [number, others].map((of) =>
    JSON.parse(statusHook(of, [{ id: unique("wamid"), status: "sent" }])),
  );
  const both = JSON.stringify({ ...hooks[0], entry: hooks.flatMap(({ entry }) => entry) });
  const storedOf = async (of: TestAccount) => {
    const { rows } = await api.app.db.pool.query("select from chat_inbox where account_id = $1", [
      of.account_id,
    ]);
    return rows.length;
  };
  await whileFrozen(frozen, async () => {
    await assert.rejects(api.app.webhookReceiver.take("whatsapp", both), /frozen/);
    assert.deepEqual([await storedOf(frozen), await storedOf(account)], [0, 1]);
  });
});

test("an account comes to rest also on a server that has given out more than 2^32 transaction IDs", async () => {
  await api.app.db.pool.query(`
    create function pg_current_xact_id() returns xid8 language sql as $$
      select (pg_catalog.pg_current_xact_id()::text::numeric + 2^32::numeric)::bigint::text::xid8 $$`);
  const url = new URL(api.database_url);
  url.searchParams.set("options", "-c search_path=public,pg_catalog");
  const db = openDatabase(url.href, api.app.log);
  try {
    const { account_id } = await makeAccount(api.app);
    const now = new Date();
    const frozen_at = new Date(now.getTime() - 60_000);
    await drainAccount(db, account_id, { frozen_at, now, wait_ms: 60_000 });
  } finally {
    await db.close();
  }
});
