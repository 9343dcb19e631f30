// The invariants of what the service keeps (design: what it promises), as SQL over every account of a
// database. Each check fails with the rows that break it. Run within a transaction they see its changes.
import assert from "node:assert/strict";
import type pg from "pg";

type Books = Pick<pg.ClientBase, "query">;

/** I4: every book adds up, the balances are the ledger's, and no reservation gave out more than it had. */
export async function checkLedger(db: Books): Promise<void> {
  await checkCreditBooks(db);
  await checkCreditBalances(db);
  await checkCreditReservations(db);
}

/** Of each account and kind all books sum to zero, and only `issued` is below it. */
async function checkCreditBooks(db: Books): Promise<void> {
  await assertNone(
    db,
    "credit books that do not add up",
    `select account_id, kind, json_object_agg(book, amount) as books
     from (
       select account_id, kind, book, sum(amount) as amount
       from (
         select account_id, kind, from_book as book, -amount as amount from credit_transfers
         union all
         select account_id, kind, to_book, amount from credit_transfers
       ) movement
       group by 1, 2, 3
     ) b
     group by 1, 2
     having sum(amount) <> 0 or bool_or(amount < 0 and book <> 'issued')`,
  );
}

/** The balance that reservations are made against is what the ledger says is available. */
async function checkCreditBalances(db: Books): Promise<void> {
  await assertNone(
    db,
    "balances that are not the ledger's",
    `select account_id, kind, b.available as balance, l.available as ledger
     from credit_balances b
     full join (
       select account_id, kind,
         sum(case when to_book = 'available' then amount else 0 end)
           - sum(case when from_book = 'available' then amount else 0 end) as available
       from credit_transfers group by 1, 2
     ) l using (account_id, kind)
     where coalesce(b.available, 0) <> coalesce(l.available, 0)`,
  );
}

/** A reservation captured and released no more than it reserved, refunded no more than it captured, all of its own kind. */
async function checkCreditReservations(db: Books): Promise<void> {
  await assertNone(
    db,
    "reservations that lost count",
    `select r.account_id, r.id, r.subject, r.closed_at, s.*
     from credit_reservations r
     cross join lateral (
       select
         coalesce(sum(amount) filter (where type = 'reserve'), 0) as reserved,
         coalesce(sum(amount) filter (where type = 'capture'), 0) as captured,
         coalesce(sum(amount) filter (where type = 'release'), 0) as released,
         coalesce(sum(amount) filter (where type = 'refund'), 0) as refunded,
         count(*) filter (where t.kind <> r.kind) as of_another_kind
       from credit_transfers t where t.account_id = r.account_id and t.reservation_id = r.id
     ) s
     where reserved = 0 or reserved < captured + released or captured < refunded
       or of_another_kind > 0 or (closed_at is not null and reserved <> captured + released)`,
  );
}

async function assertNone(db: Books, what: string, query: string): Promise<void> {
  const { rows } = await db.query<Record<string, unknown>>(query);
  assert.deepEqual(rows, [], what);
}
