// Reads from a streaming replica, which is delayed and stopped.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { makeEndpoint } from "../../../test/support/callback-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  startReplicatedPostgres,
  type ReplicatedPostgres,
} from "../../../test/support/replicated-postgres.ts";
import { createInvitation } from "../../accounts/invitations/create-invitation.ts";
import { operatorOf } from "../../accounts/roles/grantor.ts";
import { hashPassword } from "../../accounts/sessions/passwords.ts";
import { storePassword } from "../../accounts/sessions/set-password.ts";
import { createSignInLink } from "../../accounts/sessions/sign-in-links.ts";
import { openAccountReads } from "./account-reads.ts";
import { routes } from "../routes.ts";

/** Longer than any pause of a busy machine, so that a paused replica stays within the bound. */
const long_ms = 600_000;
const short_ms = 1_000;

let postgres: ReplicatedPostgres;
/** Two processes with the long bound, and one with the short bound. */
let first: TestApi;
let second: TestApi;
let strict: TestApi;
let account: TestAccount;

before(async () => {
  postgres = await startReplicatedPostgres();
  const open = (staleness_ms_max: number) =>
    startApi({
      databaseUrl: postgres.primary_url,
      replica: { url: postgres.replica_url, staleness_ms_max },
    });
  [first, second, strict] = [await open(long_ms), await open(long_ms), await open(short_ms)];
  account = await makeAccount(first.app);
});
after(async () => {
  for (const api of [first, second, strict]) await api.close();
  await postgres[Symbol.asyncDispose]();
});

const isUsed = ({ app }: TestApi) => app.replica!.isUsable();

/** Waits until readiness and metrics, which are up to a second old, show whether the replica is used. */
const awaitShown = (api: TestApi, used: boolean) =>
  eventually(async () => {
    const { body } = await api.send("GET", "/health/ready");
    const { text } = await api.send("GET", "/metrics");
    const usable = text.includes(`\ntrunkline_replica_usable ${Number(used)}\n`);
    return usable && body.replica === (used ? "used" : "not_used");
  });

/** The process's requests so far that may read from the replica, by the database. */
async function reads(api: TestApi): Promise<Record<string, number>> {
  const { values } = await api.app.metrics.reads.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.database, value]));
}

/** Sends a GET; returns the answer's body and the database that it was read from. */
async function read(api: TestApi, path: string, { token } = account) {
  const before_reads = await reads(api);
  const answer = await api.send("GET", path, { token });
  assert.equal(answer.status, 200, `${path}: ${answer.text}`);
  const after_reads = await reads(api);
  const from = ["replica", "primary"].filter((name) => after_reads[name] !== before_reads[name]);
  return { body: answer.body, from: from.join() };
}

const leadsPath = ({ workspace_id } = account) => `/api/v1/crm/workspaces/${workspace_id}/leads`;

async function createLead(api: TestApi, phone: string, owner = account): Promise<void> {
  const answer = await api.send("POST", `${leadsPath(owner)}/create`, {
    token: owner.token,
    json: { phone },
  });
  assert.equal(answer.status, 201, answer.text);
}

/** Waits until the replica has replayed everything, and the process knows it. */
async function awaitReplayed(api: TestApi): Promise<void> {
  const { rows } = await api.app.db.pool.query<{ lsn: string }>(
    "select pg_current_wal_lsn() as lsn",
  );
  await eventually(async () => {
    const [row] = await postgres.onReplica(
      `select pg_last_wal_replay_lsn() >= '${rows[0]!.lsn}'::pg_lsn as done`,
    );
    return row!["done"] === true && isUsed(api);
  });
}

test("a read uses the replica until the account writes, and then the primary in every process, while others still use the replica", async () => {
  const other = await makeAccount(first.app);
  await awaitReplayed(first);
  await awaitReplayed(second);
  await postgres.onReplica("select pg_wal_replay_pause()");
  assert.deepEqual((await read(first, leadsPath())).from, "replica");
  await createLead(first, "9876543210");
  for (const api of [first, second]) {
    const { body, from } = await read(api, leadsPath());
    assert.deepEqual([from, body.data.length], ["primary", 1]);
    assert.equal((await read(api, leadsPath(other), other)).from, "replica");
  }
  await postgres.onReplica("select pg_wal_replay_resume()");
});

test("an export and the reading of a secret, which are GETs, are in the audit trail at once, in every process", async () => {
  const owners = [await makeAccount(first.app), await makeAccount(first.app)] as const;
  const { id } = await makeEndpoint(first.app, owners[0]);
  await awaitReplayed(first);
  await postgres.onReplica("select pg_wal_replay_pause()");
  for (const [owner, path, action] of [
    [owners[0], `/api/v1/callbacks/endpoints/${id}/secret`, "callback_endpoint.secret_read"],
    [owners[1], "/api/v1/suppressions/export", "suppressions.exported"],
  ] as const) {
    assert.equal((await read(first, "/api/v1/audit", owner)).from, "replica", path);
    const answer = await first.send("GET", path, { token: owner.token });
    assert.equal(answer.status, 200, answer.text);
    for (const api of [first, second]) {
      const { body, from } = await read(api, "/api/v1/audit", owner);
      assert.deepEqual([from, body.data[0]?.action], ["primary", action], path);
    }
  }
  await postgres.onReplica("select pg_wal_replay_resume()");
});

test("a sign-in, a new password by a link and an accepted invitation, which need no token, are in the audit trail at once", async () => {
  const { db, clock } = first.app;
  const headers = { "sec-fetch-site": "same-origin" };
  const password = "correct horse battery";
  const own = await makeAccount(first.app);
  const { account_id, owner_id: user_id } = own;
  const emails = db.query.selectFrom("users").select("email");
  const { email } = await emails
    .where("account_id", "=", account_id)
    .where("id", "=", user_id)
    .executeTakeFirstOrThrow();
  const password_hash = await hashPassword(password, undefined);
  await db.query
    .transaction()
    .execute((tx) => storePassword(tx, { account_id, user_id, password_hash }, clock.now()));
  const linked = await makeAccount(first.app);
  const { path: link_path } = await db.query
    .transaction()
    .execute((tx) =>
      createSignInLink(tx, operatorOf(linked.account_id, "test"), linked.owner_id, clock.now()),
    );
  const invited = await makeAccount(first.app);
  const { path: invitation_path } = await db.query
    .transaction()
    .execute((tx) =>
      createInvitation(
        tx,
        operatorOf(invited.account_id, "test"),
        { email: "invited@test.example" },
        clock.now(),
      ),
    );
  const linkIn = (path: string | null) => path!.split("#")[1]!;
  await awaitReplayed(first);
  await postgres.onReplica("select pg_wal_replay_pause()");
  for (const [owner, url, json] of [
    [own, "/api/v1/session", { email, password }],
    [linked, "/api/v1/session/link", { link: linkIn(link_path), password }],
    [
      invited,
      "/api/v1/session/invitation",
      { link: linkIn(invitation_path), name: "Asha", password },
    ],
  ] as const) {
    assert.equal((await read(first, "/api/v1/audit", owner)).from, "replica", url);
    const answer = await first.send("POST", url, { json, headers });
    assert.equal(answer.status, 200, `${url}: ${answer.text}`);
    for (const api of [first, second]) {
      const { body, from } = await read(api, "/api/v1/audit", owner);
      assert.deepEqual([from, body.data[0]?.action], ["primary", "session.started"], url);
    }
  }
  await postgres.onReplica("select pg_wal_replay_resume()");
});

test("the own writes are read from the replica again once their time has passed, and are in it", async () => {
  const own = await makeAccount(strict.app);
  await createLead(strict, "9876543211", own);
  let seen: Awaited<ReturnType<typeof read>> | null = null;
  await eventually(async () => {
    seen = await read(strict, leadsPath(own), own);
    assert.equal(seen.body.data.length, 1, seen.from);
    return seen.from === "replica";
  });
});

test("reads use the primary while the replica lags beyond the bound, and readiness and metrics show it", async () => {
  await eventually(() => isUsed(strict));
  await postgres.onReplica("select pg_wal_replay_pause()");
  // What is written and not replayed makes it lag.
  await makeAccount(strict.app);
  await awaitShown(strict, false);
  assert.equal((await read(strict, leadsPath())).from, "primary");
  const { text } = await strict.send("GET", "/metrics");
  const [, seconds] = /^trunkline_replica_staleness_seconds (\S+)$/m.exec(text)!;
  assert.ok(Number(seconds) > short_ms / 1_000, seconds);
  // A longer bound still allows it.
  assert.ok(isUsed(second));
  await postgres.onReplica("select pg_wal_replay_resume()");
  await awaitShown(strict, true);
});

test("every route that reads from the replica can: none needs to write or to lock", async () => {
  const urls = routes.filter(({ from_replica }) => from_replica).map(({ url }) => url);
  assert.ok(urls.length > 25);
  // An account each, because exports write to the audit trail.
  const owners = new Map<string, TestAccount>();
  for (const url of urls) owners.set(url, await makeAccount(first.app));
  await awaitReplayed(first);
  for (const [url, owner] of owners) {
    const path = url
      .replace("/workspaces/:workspaceId", `/workspaces/${owner.workspace_id}`)
      .replaceAll(/:\w+/g, "1");
    const needed = path.includes("/reports/") ? "?group_by=day" : "";
    const before_reads = await reads(first);
    const answer = await first.send("GET", path + needed, { token: owner.token });
    assert.ok([200, 404, 422].includes(answer.status), `${path}: ${answer.status} ${answer.text}`);
    const { primary = 0 } = await reads(first);
    assert.equal(primary, before_reads["primary"] ?? 0, `${path} was read from the primary`);
  }
});

test("a read that the replica cancels to continue its replay is repeated on the primary", async () => {
  await postgres.onReplica("alter system set max_standby_streaming_delay = 0");
  await postgres.onReplica("select pg_reload_conf()");
  const owner = await makeAccount(first.app);
  await awaitReplayed(first);
  const { pool } = first.app.db;
  const read_from: string[] = [];
  const answer = await openAccountReads(first.app).read(owner.account_id, async ({ db }) => {
    read_from.push(db.pool === pool ? "primary" : "replica");
    if (db.pool === pool) return "done";
    const reading = db.pool.query("select pg_sleep(30) from accounts limit 1");
    // The replica's replay of this lock needs the table that is being read.
    const locking = eventually(async () => {
      await pool.query("begin; lock table accounts in access exclusive mode; commit");
      return Promise.race([reading.then(Boolean, () => true), pause(50, false)]);
    });
    await Promise.all([reading, locking]);
    return "not cancelled";
  });
  assert.deepEqual([answer, read_from], ["done", ["replica", "primary"]]);
  // Its state is as good as before.
  assert.ok(isUsed(first));
});

test("reads go on from the primary when the replica stops, and return to it when it runs again", async () => {
  const owner = await makeAccount(second.app);
  await awaitReplayed(second);
  assert.equal((await read(second, leadsPath(owner), owner)).from, "replica");
  await postgres.stopReplica();
  // The first read finds out by itself, though the bound would still allow the replica.
  assert.equal((await read(second, leadsPath(owner), owner)).from, "primary");
  await awaitShown(second, false);
  await postgres.startReplica();
  await eventually(() => isUsed(second));
  assert.equal((await read(second, leadsPath(owner), owner)).from, "replica");
});
