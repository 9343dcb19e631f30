// Random histories of the ledger against a model, with concurrent connections.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { operatorOf } from "../accounts/roles/grantor.ts";
import { openDatabase, type Database } from "../lib/database/database.ts";
import { Refusal } from "../lib/errors.ts";
import { openLog } from "../lib/log.ts";
import { checkLedger } from "../../test/support/check-invariants.ts";
import { testClock } from "../../test/support/clock.ts";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { makeAccount } from "../../test/support/account-factory.ts";
import { closeReservation } from "./close-reservation.ts";
import type { CreditKind } from "./credit-schema.ts";
import { findCredits, findReservation, type ReservationSums } from "./credits.ts";
import { grantCredits } from "./grant-credits.ts";
import { reserveCredits } from "./reserve-credits.ts";

let database: TestDatabase;
/** The connections of two processes. */
let processes: Database[];

before(async () => {
  database = await cloneDatabase();
  const log = openLog("silent", { readable: false });
  processes = [1, 2].map(() => openDatabase(database.url, log, { connections: 4 }));
});
after(async () => {
  for (const db of processes) await db.close();
  await database.drop();
});

type Reserve = { kind: CreditKind; amount: number; aborts: boolean };
/** `pick` chooses the reservation; the numbers are shares of the most that may be moved. */
type Settle = { pick: number; capture: number; release: number; refund: number; aborts: boolean };
type Step =
  | { do: "grant"; grants: Reserve[] }
  | { do: "reserve"; reserves: Reserve[] }
  | { do: "settle"; batches: Settle[] }
  | { do: "close"; pick: number };

type Reservation = { id: number; kind: CreditKind; sums: Mutable<ReservationSums> };
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Model = {
  account_id: number;
  available: Record<CreditKind, number>;
  reservations: Reservation[];
};

const anyKind = fc.constantFrom<CreditKind>("chat", "call");
const reserve = fc.record({
  kind: anyKind,
  amount: fc.integer({ min: 1, max: 60 }),
  aborts: fc.boolean(),
});
const share = fc.constantFrom(0, 0, 0.3, 0.7, 1);
const settle = fc.record({
  pick: fc.nat(20),
  capture: share,
  release: share,
  refund: share,
  aborts: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("grant" as const), grants: fc.array(reserve, { maxLength: 4 }) }),
  fc.record({ do: fc.constant("reserve" as const), reserves: fc.array(reserve, { maxLength: 8 }) }),
  fc.record({ do: fc.constant("settle" as const), batches: fc.array(settle, { maxLength: 8 }) }),
  fc.record({ do: fc.constant("close" as const), pick: fc.nat(20) }),
);
const history = fc.array(step, { minLength: 3, maxLength: 14 });

test("random concurrent grants, reservations, settlements and aborts keep the ledger equal to the model and balanced", async () => {
  const app = { db: processes[0]!, clock: testClock() };
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const model: Model = {
        account_id: (await makeAccount(app)).account_id,
        available: { chat: 0, call: 0 },
        reservations: [],
      };
      // Most histories then have credit to reserve.
      await run(model, {
        do: "grant",
        grants: (["chat", "call"] as const).map((kind) => ({ kind, amount: 90, aborts: false })),
      });
      for (const next of steps) {
        await run(model, next);
        await assertLedger(model);
      }
    }),
    { numRuns: 60 },
  );
});

function run(model: Model, next: Step): Promise<void> {
  if (next.do === "grant") return grant(model, next.grants);
  if (next.do === "reserve") return reserveAtOnce(model, next.reserves);
  if (next.do === "settle") return settleAtOnce(model, next.batches);
  return close(model, next.pick);
}

async function grant(model: Model, grants: readonly Reserve[]): Promise<void> {
  const { actor } = operatorOf(model.account_id, "req_test");
  await atOnce(grants, (given, db) =>
    inTransaction(db, given.aborts, (tx) =>
      grantCredits(tx, actor, { kind: given.kind, amount: given.amount }, new Date()),
    ),
  );
  for (const given of grants) if (!given.aborts) model.available[given.kind] += given.amount;
}

async function reserveAtOnce(model: Model, reserves: readonly Reserve[]): Promise<void> {
  const { account_id } = model;
  const ids = await atOnce(reserves, async ({ kind, amount, aborts }, db, i) => {
    const subject = `test:${model.reservations.length + i}:${Math.random()}`;
    try {
      return await inTransaction(db, aborts, (tx) =>
        reserveCredits(tx, { account_id, kind, subject, amount }, new Date()),
      );
    } catch (error) {
      if (error instanceof Refusal && error.type === "insufficient-credit") return "refused";
      throw error;
    }
  });
  for (const [i, id] of ids.entries()) {
    const { kind, amount, aborts } = reserves[i]!;
    if (id === "refused" || aborts) continue;
    model.available[kind] -= amount;
    const sums = { reserved: amount, captured: 0, released: 0, refunded: 0 };
    model.reservations.push({ id, kind, sums });
  }
  for (const kind of ["chat", "call"] as const)
    assert.ok(model.available[kind] >= 0, `${kind} negative`);
  // No credit is returned meanwhile, so a refused reservation must also exceed the final balance.
  for (const [i, id] of ids.entries())
    if (id === "refused") {
      const { kind, amount } = reserves[i]!;
      assert.ok(
        amount > model.available[kind],
        `${amount} refused with ${model.available[kind]} left`,
      );
    }
}

async function settleAtOnce(model: Model, batches: readonly Settle[]): Promise<void> {
  if (model.reservations.length === 0) return;
  const planned = batches.map((batch) => plan(model, batch));
  await atOnce(planned, async ({ to, capture, release, refund, aborts }, db) => {
    const client = await db.pool.connect();
    try {
      await client.query("begin");
      await client.query("select settle_credits($1, $2, $3, $4, $5, now())", [
        model.account_id,
        to.id,
        capture,
        release,
        refund,
      ]);
      await client.query(aborts ? "rollback" : "commit");
    } finally {
      client.release();
    }
  });
}

/** Returns what one batch moves and updates the model; concurrent batches together move at most what exists. */
function plan({ reservations, available }: Model, batch: Settle) {
  const to = reservations[batch.pick % reservations.length]!;
  const { sums } = to;
  const left = sums.reserved - sums.captured - sums.released;
  const capture = Math.floor(left * batch.capture);
  const release = Math.floor((left - capture) * batch.release);
  // A batch may refund what it captures itself, as for a failure that is reported late.
  const refund = Math.floor((sums.captured + capture - sums.refunded) * batch.refund);
  // An aborted batch moves nothing, and later batches cannot rely on it.
  if (!batch.aborts) {
    sums.captured += capture;
    sums.released += release;
    sums.refunded += refund;
    available[to.kind] += release + refund;
  }
  return { to, capture, release, refund, aborts: batch.aborts };
}

async function close({ reservations, account_id }: Model, pick: number): Promise<void> {
  const to = reservations[pick % Math.max(reservations.length, 1)];
  if (!to) return;
  const { reserved, captured, released } = to.sums;
  const closing = processes[0]!.query
    .transaction()
    .execute((tx) => closeReservation(tx, account_id, to.id, new Date()));
  if (reserved === captured + released) await closing;
  else await assert.rejects(closing, /still has credit/);
}

async function assertLedger({ account_id, available, reservations }: Model): Promise<void> {
  const db = processes[1]!;
  await checkLedger(db.pool);
  const left = (kind: CreditKind) =>
    reservations
      .filter((reservation) => reservation.kind === kind)
      .reduce((sum, { sums }) => sum + sums.reserved - sums.captured - sums.released, 0);
  assert.deepEqual(await findCredits(db.query, account_id), {
    chat: { available: available.chat, reserved: left("chat") },
    call: { available: available.call, reserved: left("call") },
  });
  for (const { id, sums } of reservations)
    assert.deepEqual(await findReservation(db.query, account_id, id), sums);
}

/** Runs all items concurrently, alternating between the connections of two processes. */
function atOnce<Item, Answer>(
  items: readonly Item[],
  work: (item: Item, db: Database, i: number) => Promise<Answer>,
): Promise<Answer[]> {
  return Promise.all(items.map((item, i) => work(item, processes[i % processes.length]!, i)));
}

const aborted = new Error("aborted");

/** Returns the result of the work, or 0 after a rollback if it aborts. */
function inTransaction(
  db: Database,
  aborts: boolean,
  work: (tx: Parameters<typeof reserveCredits>[0]) => Promise<number>,
): Promise<number> {
  return db.query
    .transaction()
    .execute(async (tx) => {
      const answer = await work(tx);
      if (aborts) throw aborted;
      return answer;
    })
    .catch((error: unknown) => {
      if (error === aborted) return 0;
      throw error;
    });
}
