import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { cloneDatabase, databaseUrl, type TestDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import { passTime } from "../../test/support/pass-time.ts";
import { setTimeout as wait } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import { openDatabase } from "../lib/database/database.ts";
import { openLog } from "../lib/log.ts";
import type { App } from "./app.ts";
import { openNotifications } from "./notifications.ts";
import { purgeLeases } from "./database-upkeep.ts";
import { acquireLease, isLeaseLost, type Lease, type LeaseTimes } from "./leases.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { testSecrets } from "../../test/support/secrets.ts";

const log = openLog("silent", { readable: false });
const short: LeaseTimes = { lease_ms: 1_000, renew_ms: 200, margin_ms: 400 };
/** Long enough for pauses of a busy machine. */
const renewing: LeaseTimes = { lease_ms: 60_000, renew_ms: 50, margin_ms: 4_000 };
const long: LeaseTimes = { lease_ms: 60_000, renew_ms: 20_000, margin_ms: 4_000 };
let database: TestDatabase;
let app: App;

before(async () => {
  database = await cloneDatabase();
  app = openApp();
});
after(async () => {
  await app.db.close();
  await app.notifications.close();
  await database.drop();
});

function openApp(): App {
  const db = openDatabase(database.url, log, { connections: 20 });
  return {
    db,
    log,
    clock: systemClock,
    random: systemRandom,
    notifications: openNotifications(database.url, log),
    chatDrivers: {},
    voiceDrivers: {},
    aiAgentDrivers: {},
    speech: toneSpeech,
    outgoing: localOutgoing,
    secrets: testSecrets,
  };
}

async function acquire(name: string, times = long): Promise<Lease> {
  const lease = await acquireLease(app, 1, name, times);
  assert.ok(lease);
  return lease;
}

const check = (lease: Lease, fence = lease.fence) =>
  app.db.pool.query("select check_lease($1, $2, $3)", [lease.account_id, lease.name, fence]);

test("one of twenty concurrent processes acquires the lease, and the next holder gets the next fencing token", async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, () => acquireLease(app, 1, "sender:1", long)),
  );
  const [lease, ...more] = results.filter((taken) => taken !== null);
  assert.ok(lease);
  assert.equal(more.length, 0);
  assert.ok(lease.mayProceed());
  assert.equal(await acquireLease(app, 1, "sender:1", long), null);
  await lease.release();
  assert.ok(!lease.mayProceed());
  const next = await acquire("sender:1");
  assert.equal(next.fence, lease.fence + 1);
  await next.release();
});

test("leases of different accounts or names are independent", async () => {
  const leases = [
    await acquire("sender:2"),
    await acquireLease(app, 2, "sender:2", long),
    await acquire("sender:3"),
  ];
  for (const lease of leases) {
    assert.ok(lease);
    await lease.release();
  }
});

test("deletes leases that were released a day ago, and those of killed pools; a former holder's fencing token stays invalid", async () => {
  const old = await acquire("sender:20");
  await old.release();
  const expired = await acquire("sender:21", { ...long, renew_ms: 60_000 });
  const recent = await acquire("sender:22");
  await recent.release();
  await app.db.pool.query(
    `insert into leases (account_id, name, fence, holder, expires_at)
     values (0, 'pool:sender:killed', 1, gen_random_uuid(), now());
     update leases set expires_at = now() - interval '25 hours'
     where name in ('sender:20', 'sender:21', 'pool:sender:killed')`,
  );
  assert.equal(await purgeLeases(app), 2);
  assert.equal(await purgeLeases(app), 0);
  const next = await acquire("sender:20");
  assert.ok(next.fence > old.fence, `${next.fence} after ${old.fence}`);
  await assert.rejects(check(old), isLeaseLost);
  await check(next);
  assert.equal((await acquire("sender:21")).fence, expired.fence + 1);
  assert.equal((await acquire("sender:22")).fence, recent.fence + 1);
});

test("a holder that renews keeps the lease beyond its initial length", async (t) => {
  const lease = await acquire("sender:4", renewing);
  const pass = passTime(t);
  for (let passed_ms = 0; passed_ms < 1.5 * renewing.lease_ms; passed_ms += 30_000) {
    pass(30_000);
    await renewals("sender:4");
    assert.equal(await acquireLease(app, 1, "sender:4", renewing), null);
    assert.ok(lease.mayProceed());
  }
  await check(lease);
  await lease.release();
});

/**
 * Waits until the holder has received the result of a renewal that began after the call: the first may be old,
 * the second may have been in flight, and the third ends before the fourth begins. Each check halves the
 * remaining time.
 */
async function renewals(name: string): Promise<void> {
  const isRenewed = () =>
    app.db.pool
      .query(
        `update leases set expires_at = now() + interval '30 s'
        where name = $1 and expires_at > now() + interval '45 s'`,
        [name],
      )
      .then(
        ({ rowCount }) => rowCount === 1,
        () => false,
      );
  for (let seen = 0; seen < 4; seen++) await eventually(isRenewed);
}

test("a holder's renewals succeed while its own transactions overlap without a gap", async () => {
  const lease = await acquire("sender:5", { lease_ms: 15_000, renew_ms: 100, margin_ms: 1_000 });
  const writing = new AbortController();
  const write = async (first_ms: number) => {
    await wait(first_ms);
    while (!writing.signal.aborted) {
      await app.db.query.transaction().execute(async (tx) => {
        await sql`select check_lease(${lease.account_id}, ${lease.name}, ${lease.fence})`.execute(
          tx,
        );
        await wait(100);
      });
    }
  };
  const writers = Promise.all(Array.from({ length: 8 }, (_, i) => write(i * 12)));
  try {
    for (let renewal = 0; renewal < 10; renewal++) {
      const end_ms = await endOf("sender:5");
      await eventually(async () => {
        assert.ok(lease.mayProceed());
        return (await endOf("sender:5")) > end_ms;
      });
    }
  } finally {
    writing.abort();
    await writers;
  }
  assert.ok(!lease.lost.aborted);
  await lease.release();
});

/** Returns when the lease expires unless it is renewed. */
async function endOf(name: string): Promise<number> {
  const { rows } = await app.db.pool.query<{ expires_at: Date }>(
    "select expires_at from leases where name = $1",
    [name],
  );
  return rows[0]!.expires_at.getTime();
}

test("a lease that is not renewed can be acquired after it expires, not before, with the next fencing token", async () => {
  const dead = await acquire("sender:6", { ...short, renew_ms: 60_000 });
  const end_ms = await endOf("sender:6");
  const taken: Lease[] = [];
  await eventually(async () => {
    const acquired = await acquireLease(app, 1, "sender:6", long);
    if (acquired) taken.push(acquired);
    return acquired !== null;
  });
  const next = taken[0]!;
  assert.ok((await endOf("sender:6")) - long.lease_ms >= end_ms);
  assert.equal(next.fence, dead.fence + 1);
  await eventually(() => dead.lost.aborted);
  assert.ok(!dead.mayProceed());
  await assert.rejects(check(dead), isLeaseLost);
  await check(next);
  await dead.release();
  await check(next);
  await next.release();
});

test("a holder stops before its lease expires, while others still cannot acquire it", async () => {
  const began = performance.now();
  const times: LeaseTimes = { lease_ms: 60_600, renew_ms: 120_000, margin_ms: 60_000 };
  const lease = await acquire("sender:7", times);
  await eventually(() => lease.lost.aborted);
  const held_ms = performance.now() - began;
  assert.ok(!lease.mayProceed());
  // Approximate: the wall clock counts whole milliseconds and may be adjusted meanwhile.
  assert.ok(held_ms > (times.lease_ms - times.margin_ms) / 2, `${held_ms} ms`);
  assert.equal(await acquireLease(app, 1, "sender:7", long), null);
  await lease.release();
});

test("a clock that jumps ahead ends the lease for its holder, and one that is set back does not extend it", async (t) => {
  const lease = await acquire("sender:8", long);
  const now = Date.now();
  const set = t.mock.method(Date, "now", () => now + long.lease_ms);
  assert.ok(!lease.mayProceed());
  set.mock.mockImplementation(() => now);
  assert.ok(lease.mayProceed());
  await lease.release();

  const set_back = await acquire("sender:8", { ...short, renew_ms: 60_000 });
  set.mock.mockImplementation(() => now - 3_600_000);
  await eventually(() => set_back.lost.aborted);
  assert.ok(!set_back.mayProceed());
  await set_back.release();
});

test("check_lease rejects an old fencing token, a released lease and an unknown lease, and nothing is written", async () => {
  const lease = await acquire("sender:9");
  await assert.rejects(check(lease, lease.fence - 1), isLeaseLost);
  await assert.rejects(check(lease, lease.fence + 1), isLeaseLost);
  await lease.release();
  await assert.rejects(check(lease), isLeaseLost);
  await assert.rejects(check({ ...lease, name: "sender:none" }), isLeaseLost);
  const write = app.db.query.transaction().execute(async (tx) => {
    await sql`insert into event_heads (account_id, seq) values (1, 5)`.execute(tx);
    await sql`select check_lease(1, 'sender:9', ${lease.fence})`.execute(tx);
  });
  await assert.rejects(write, isLeaseLost);
  assert.equal((await app.db.pool.query("select from event_heads")).rowCount, 0);
});

test("a lease cannot be acquired while a transaction that checked it is open", async () => {
  // Long enough to be checked before it expires, even on a machine that pauses.
  const lease = await acquire("sender:10", { ...short, lease_ms: 4_000, renew_ms: 60_000 });
  await app.db.query.transaction().execute(async (tx) => {
    await sql`select check_lease(1, 'sender:10', ${lease.fence})`.execute(tx);
    await eventually(async () => {
      const { rows } = await app.db.pool.query(
        "select expires_at < clock_timestamp() as over from leases where name = 'sender:10'",
      );
      return rows[0].over;
    });
    assert.equal(await acquireLease(app, 1, "sender:10", long), null);
  });
  const next = await acquire("sender:10");
  await next.release();
});

test("a refused renewal ends the lease immediately", async () => {
  // The lease's hour does not pass during the test.
  const lease = await acquire("sender:11", { ...short, lease_ms: 3_600_000 });
  await app.db.pool.query("update leases set fence = fence + 1 where name = 'sender:11'");
  await eventually(() => lease.lost.aborted);
  await lease.release();
});

test("a lease survives a database outage shorter than its remaining time, and no longer one", async (t) => {
  const lease = await acquire("sender:12", renewing);
  const pass = passTime(t);
  await refuseConnections();
  await assert.rejects(app.db.pool.query("select 1"));
  // Longer than a renewal and its retry.
  await wait(800);
  pass(30_000);
  await admitConnections();
  await renewals("sender:12");
  pass(30_000);
  assert.ok(lease.mayProceed());
  await check(lease);
  await refuseConnections();
  pass(renewing.lease_ms);
  await eventually(() => lease.lost.aborted);
  assert.ok(!lease.mayProceed());
  await lease.release();
  await admitConnections();
  // The lease could not be released, so it expires.
  await eventually(async () => {
    const holder = app.db.pool.query("select holder from leases where name = 'sender:12'");
    return holder.then(
      ({ rows }) => rows[0].holder !== null,
      () => false,
    );
  });
  await app.db.pool.query("update leases set expires_at = now() where name = 'sender:12'");
  await assert.rejects(check(lease), isLeaseLost);
});

const refuseConnections = () => admin("allow_connections false", true);
const admitConnections = () => admin("allow_connections true", false);

/** Changes the database's setting through another database of the same server. */
async function admin(setting: string, cut: boolean): Promise<void> {
  const name = new URL(database.url).pathname.slice(1);
  const client = new pg.Client({ connectionString: databaseUrl("postgres") });
  await client.connect();
  await client.query(`alter database ${name} with ${setting}`);
  if (cut) {
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
      [name],
    );
  }
  await client.end();
}
