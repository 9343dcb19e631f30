import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type pg from "pg";
import { operatorOf } from "../accounts/roles/grantor.ts";
import { openDatabase, type Database } from "../lib/database/database.ts";
import { Refusal } from "../lib/errors.ts";
import { openLog } from "../lib/log.ts";
import { checkLedger } from "../../test/support/check-invariants.ts";
import { testClock } from "../../test/support/clock.ts";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import { makeAccount } from "../../test/support/account-factory.ts";
import { closeReservation } from "./close-reservation.ts";
import { available_max, type CreditKind } from "./credit-schema.ts";
import { availableCredits, findCredits, findReservation } from "./credits.ts";
import { grantCredits } from "./grant-credits.ts";
import { reserveCredits } from "./reserve-credits.ts";
import { refundCredit, spendCredit } from "./spend-credit.ts";

let database: TestDatabase;
let db: Database;
let other_process: Database;
const now = new Date("2026-11-21T10:00:00Z");

before(async () => {
  database = await cloneDatabase();
  const log = openLog("silent", { readable: false });
  db = openDatabase(database.url, log);
  other_process = openDatabase(database.url, log);
});
after(async () => {
  await checkLedger(db.pool);
  await db.close();
  await other_process.close();
  await database.drop();
});

async function newAccount(): Promise<number> {
  const { account_id } = await makeAccount({ db, clock: testClock() });
  return account_id;
}

const grant = (account_id: number, kind: CreditKind, amount: number, by = db) =>
  by.query
    .transaction()
    .execute((tx) => grantCredits(tx, operatorOf(account_id, "r").actor, { kind, amount }, now));

async function accountWith(chat: number): Promise<number> {
  const account_id = await newAccount();
  await grant(account_id, "chat", chat);
  return account_id;
}

let subjects = 0;
const chat = (account_id: number, amount: number, subject = `test:${++subjects}`) =>
  ({ account_id, kind: "chat", subject, amount }) as const;

const reserve = (account_id: number, amount: number, by = db) =>
  by.query.transaction().execute((tx) => reserveCredits(tx, chat(account_id, amount), now));

const settle = (
  by: Pick<pg.ClientBase, "query">,
  [account_id, id]: [number, number],
  { capture = 0, release = 0, refund = 0 },
) =>
  by.query("select settle_credits($1, $2, $3, $4, $5, $6)", [
    account_id,
    id,
    capture,
    release,
    refund,
    now,
  ]);

async function withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await other_process.pool.connect();
  try {
    await client.query("begin");
    return await work(client);
  } finally {
    await client.query("rollback");
    client.release();
  }
}

const isInsufficientCredit = (error: unknown) =>
  error instanceof Refusal && error.type === "insufficient-credit";

test("of fifty concurrent reservations from two processes against a balance for twenty, exactly twenty succeed", async () => {
  const account_id = await accountWith(60);
  const attempts = Array.from({ length: 50 }, (_, i) =>
    reserve(account_id, 3, i % 2 ? db : other_process),
  );
  const ended = await Promise.allSettled(attempts);
  const refused = ended.filter(({ status }) => status === "rejected");
  assert.equal(refused.length, 30);
  for (const { reason } of refused as PromiseRejectedResult[])
    assert.ok(isInsufficientCredit(reason), String(reason));
  assert.deepEqual((await findCredits(db.query, account_id)).chat, { available: 0, reserved: 60 });
});

test("a reservation beyond the balance is refused without effect, and the transaction continues", async () => {
  const account_id = await accountWith(5);
  await db.query.transaction().execute(async (tx) => {
    await assert.rejects(
      reserveCredits(tx, chat(account_id, 6, "twice"), now),
      isInsufficientCredit,
    );
    await reserveCredits(tx, chat(account_id, 5, "twice"), now);
  });
  assert.deepEqual((await findCredits(db.query, account_id)).chat, { available: 0, reserved: 5 });
  const { rows } = await db.pool.query(
    "select type, amount from credit_transfers where account_id = $1 order by id",
    [account_id],
  );
  assert.deepEqual(rows, [
    { type: "grant", amount: 5 },
    { type: "reserve", amount: 5 },
  ]);
});

test("an account without a grant has zeros, and reservations are refused", async () => {
  const account_id = await newAccount();
  const nothing = { available: 0, reserved: 0 };
  assert.deepEqual(await findCredits(db.query, account_id), { chat: nothing, call: nothing });
  assert.equal(await availableCredits(db.query, account_id, "chat"), 0);
  await assert.rejects(reserve(account_id, 1), isInsufficientCredit);
});

test("a subject has one reservation, and a second attempt costs nothing", async () => {
  const account_id = await accountWith(10);
  const twice = () =>
    db.query.transaction().execute((tx) => reserveCredits(tx, chat(account_id, 2, "one"), now));
  await twice();
  await assert.rejects(twice(), { code: "23505" });
  assert.equal(await availableCredits(db.query, account_id, "chat"), 8);
});

test("credit of one kind or account never pays for another", async () => {
  const [account_id, poor] = [await accountWith(10), await newAccount()];
  await grant(poor, "call", 10);
  await assert.rejects(reserve(poor, 1), isInsufficientCredit);
  const id = await reserve(account_id, 4);
  await assert.rejects(findReservation(db.query, poor, id), { type: "not-found" });
  await assert.rejects(settle(db.pool, [poor, id], { capture: 1 }), /no rows/);
  const closing = db.query.transaction().execute((tx) => closeReservation(tx, poor, id, now));
  await assert.rejects(closing, /does not exist/);
  assert.deepEqual(await findReservation(db.query, account_id, id), {
    reserved: 4,
    captured: 0,
    released: 0,
    refunded: 0,
  });
});

test("a reservation that waits for one that is rolled back gets its credit", async () => {
  const account_id = await accountWith(10);
  let waiting: Promise<number> | undefined;
  await db.query
    .transaction()
    .execute(async (tx) => {
      await reserveCredits(tx, chat(account_id, 10), now);
      waiting = reserve(account_id, 10, other_process);
      await eventually(async () => {
        const { rowCount } = await db.pool.query(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock'
             and datname = current_database() and query like '%credit_reservations%'`,
        );
        return rowCount === 1;
      });
      throw new Error("rolled back");
    })
    .catch(() => {});
  assert.ok(await waiting);
  assert.equal(await availableCredits(db.query, account_id, "chat"), 0);
});

test("concurrent first grants add up, each in the ledger and the audit trail", async () => {
  const account_id = await newAccount();
  await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      grant(account_id, "call", 10 + i, i % 2 ? db : other_process),
    ),
  );
  assert.equal(await availableCredits(db.query, account_id, "call"), 145);
  const { rows } = await db.pool.query(
    `select count(*) as count, sum((detail->>'amount')::int)::int as sum from audit_entries
     where account_id = $1 and action = 'credits.granted' and user_id is null`,
    [account_id],
  );
  assert.deepEqual(rows, [{ count: 10, sum: 145 }]);
});

test("a grant that would exceed the largest balance is refused without effect", async () => {
  const account_id = await accountWith(available_max - 1);
  await grant(account_id, "chat", 1);
  await assert.rejects(grant(account_id, "chat", 1), { type: "validation-failed" });
  assert.equal(await availableCredits(db.query, account_id, "chat"), available_max);
  await checkLedger(db.pool);
});

test("a capture does not wait for the lock of the balance, but a release does", async () => {
  const account_id = await accountWith(10);
  const id = await reserve(account_id, 10);
  await withClient(async (holder) => {
    await holder.query("select from credit_balances where account_id = $1 for update", [
      account_id,
    ]);
    await settle(db.pool, [account_id, id], { capture: 4 });
    assert.equal((await findReservation(db.query, account_id, id)).captured, 4);
    await withClient(async (impatient) => {
      await impatient.query("set local lock_timeout = '50ms'");
      await assert.rejects(settle(impatient, [account_id, id], { release: 1 }), { code: "55P03" });
    });
  });
});

test("available and reserved credit are read from one snapshot while both change", async () => {
  const account_id = await accountWith(100);
  const progress = { is_writing: true, reads: 0 };
  const writers = [db, other_process].map(async (by) => {
    for (let i = 0; i < 25 || progress.reads <= 5; i++) {
      const id = await reserve(account_id, 7, by);
      await settle(by.pool, [account_id, id], { release: 7 });
      await by.query.transaction().execute((tx) => closeReservation(tx, account_id, id, now));
    }
  });
  const written = Promise.all(writers).finally(() => (progress.is_writing = false));
  while (progress.is_writing) {
    const { available, reserved } = (await findCredits(db.query, account_id)).chat;
    assert.equal(available + reserved, 100);
    progress.reads++;
  }
  await written;
});

test("a reservation is closed once, when no credit is left in it, and refunds are still possible", async () => {
  const account_id = await accountWith(10);
  const id = await reserve(account_id, 10);
  const close = (at: Date) =>
    db.query.transaction().execute((tx) => closeReservation(tx, account_id, id, at));
  const closedAt = async () => {
    const { rows } = await db.pool.query<{ closed_at: Date | null }>(
      "select closed_at from credit_reservations where account_id = $1 and id = $2",
      [account_id, id],
    );
    return rows[0]!.closed_at?.getTime();
  };
  await settle(db.pool, [account_id, id], { capture: 6, release: 3 });
  await assert.rejects(close(now), /reservation \d+ of account \d+ still has credit/);
  assert.equal(await closedAt(), undefined);
  await settle(db.pool, [account_id, id], { capture: 1 });
  await close(now);
  await close(new Date(now.getTime() + 1_000));
  assert.equal(await closedAt(), now.getTime());
  await settle(db.pool, [account_id, id], { refund: 2 });
  assert.deepEqual((await findCredits(db.query, account_id)).chat, { available: 5, reserved: 0 });
});

test("a credit that is refunded several times, also at the same time, is refunded once", async () => {
  const account_id = await accountWith(5);
  const of = { account_id, kind: "chat", subject: `test:${++subjects}` } as const;
  const id = await db.query.transaction().execute((tx) => spendCredit(tx, of, now));
  const refund = (by: Database) =>
    by.query.transaction().execute((tx) => refundCredit(tx, account_id, id, now));
  await Promise.all([refund(db), refund(other_process)]);
  await refund(db);
  assert.equal((await findCredits(db.query, account_id)).chat.available, 5);
});

test("the ledger invariants detect every kind of inconsistency", async () => {
  const account_id = await accountWith(10);
  const id = await reserve(account_id, 6);
  const reservation: [number, number] = [account_id, id];
  await settle(db.pool, reservation, { capture: 2 });
  // A second reservation keeps the account's sums plausible.
  await settle(db.pool, [account_id, await reserve(account_id, 4)], { capture: 2 });
  await checkLedger(db.pool);
  const corruptions: [RegExp, (client: pg.PoolClient) => Promise<unknown>][] = [
    [
      /differ from the ledger/,
      (client) => client.query("update credit_balances set available = available + 1"),
    ],
    [/differ from the ledger/, (client) => client.query("delete from credit_balances")],
    [/transfers do not match/, (client) => settle(client, reservation, { capture: 5 })],
    [/transfers do not match/, (client) => settle(client, reservation, { release: 5 })],
    [/transfers do not match/, (client) => settle(client, reservation, { refund: 3 })],
    [
      /transfers do not match/,
      (client) => client.query("update credit_reservations set closed_at = now()"),
    ],
    [
      /do not sum to zero/,
      (client) => client.query("delete from credit_transfers where type = 'grant'"),
    ],
  ];
  for (const [reason, corrupt] of corruptions)
    await withClient(async (client) => {
      await corrupt(client);
      await assert.rejects(checkLedger(client), reason);
    });
});
