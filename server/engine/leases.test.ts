import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import { CompiledQuery } from "kysely";
import { systemClock } from "../lib/clock.ts";
import { openDatabase } from "../lib/database.ts";
import { openLog } from "../lib/log.ts";
import type { App } from "./app.ts";
import { openHints } from "./hints.ts";
import { acquireLease, isLeaseLost, type Lease, type LeaseTimes } from "./leases.ts";

const log = openLog("silent", { readable: false });
const short: LeaseTimes = { lease_ms: 1_000, renew_ms: 200, margin_ms: 400 };
const long: LeaseTimes = { lease_ms: 60_000, renew_ms: 20_000, margin_ms: 4_000 };
let database: TestDatabase;
let app: App;

before(async () => {
  database = await cloneDatabase();
  app = openApp();
});
after(async () => {
  await app.db.close();
  await app.hints.close();
  await database.drop();
});

function openApp(): App {
  const db = openDatabase(database.url, log, { connections: 20 });
  return { db, log, clock: systemClock, hints: openHints(database.url, log), chatDrivers: {} };
}

async function take(name: string, times = long): Promise<Lease> {
  const lease = await acquireLease(app, 1, name, times);
  assert.ok(lease);
  return lease;
}

const check = (lease: Lease, fence = lease.fence) =>
  app.db.pool.query("select check_lease($1, $2, $3)", [lease.account_id, lease.name, fence]);

test("of twenty that ask at once one gets the lease, and the next holder gets the next fence", async () => {
  const asked = await Promise.all(
    Array.from({ length: 20 }, () => acquireLease(app, 1, "sender:1", long)),
  );
  const [lease, ...more] = asked.filter((taken) => taken !== null);
  assert.ok(lease);
  assert.equal(more.length, 0);
  assert.ok(lease.mayAct());
  assert.equal(lease.fence, 1);
  assert.equal(await acquireLease(app, 1, "sender:1", long), null);
  await lease.release();
  assert.ok(!lease.mayAct());
  const next = await take("sender:1");
  assert.equal(next.fence, 2);
  await next.release();
});

test("a lease of another account or another name is another lease", async () => {
  const leases = [
    await acquireLease(app, 1, "sender:2", long),
    await acquireLease(app, 2, "sender:2", long),
    await acquireLease(app, 1, "sender:3", long),
  ];
  for (const lease of leases) {
    assert.equal(lease?.fence, 1);
    await lease?.release();
  }
});

test("a holder keeps the lease by renewing it, for many times its length", async () => {
  const lease = await take("sender:4", short);
  const until = performance.now() + 3 * short.lease_ms;
  await eventually(async () => {
    assert.equal(await acquireLease(app, 1, "sender:4", short), null);
    assert.ok(lease.mayAct());
    return performance.now() > until;
  });
  await check(lease);
  await lease.release();
});

test("transactions of the holder that overlap without a gap hinder no renewal", async () => {
  const lease = await take("sender:5", short);
  const until = performance.now() + 3 * short.lease_ms;
  const write = async () => {
    while (performance.now() < until) {
      await app.db.query.transaction().execute(async (tx) => {
        await tx.executeQuery(checkQuery(lease));
        await new Promise((resolve) => setTimeout(resolve, 100));
      });
    }
  };
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, i * 12));
      await write();
    }),
  );
  assert.ok(lease.mayAct());
  assert.ok(!lease.lost.aborted);
  await lease.release();
});

function checkQuery(lease: Lease) {
  return CompiledQuery.raw("select check_lease($1, $2, $3)", [
    lease.account_id,
    lease.name,
    lease.fence,
  ]);
}
