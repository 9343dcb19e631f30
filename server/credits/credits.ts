// Reads an account's credit and the sums of one reservation.
import { sql, type Kysely } from "kysely";
import type { DB } from "../lib/database/database.ts";
import { notFound } from "../lib/errors.ts";
import type { CreditKind, CreditsResponse } from "./credit-schema.ts";

/** Returns the available and reserved credit of each kind, from one snapshot; zeros without a grant. */
export async function findCredits(db: Kysely<DB>, accountId: number): Promise<CreditsResponse> {
  // An array, so that the transfers are read once. Of an account that the statistics of a large table do not know, a
  // join expected one transfer, and read all for each reservation.
  const { rows } = await sql<{ kind: CreditKind; available: number; reserved: number }>`
    with open as materialized (
      select id, kind, folded_reserved - folded_captured - folded_released as amount
      from credit_reservations where account_id = ${accountId} and closed_at is null
    ), changed as (
      select kind, amount from open
      union all
      select kind, case when type = 'reserve' then amount else -amount end
      from credit_transfers
      where account_id = ${accountId} and type in ('reserve', 'capture', 'release')
        and reservation_id = any (array(select id from open))
    ), reserved as (
      select kind, sum(amount)::bigint as amount from changed group by kind
    )
    select b.kind, b.available, coalesce(r.amount, 0) as reserved
    from credit_balances b
    left join reserved r on r.kind = b.kind
    where b.account_id = ${accountId}`.execute(db);
  const amounts = (kind: CreditKind) => {
    const { available, reserved } = rows.find((row) => row.kind === kind) ?? {
      available: 0,
      reserved: 0,
    };
    return { available, reserved };
  };
  return { chat: amounts("chat"), call: amounts("call") };
}

/** Returns the available credit of one kind, 0 without a grant. Takes no lock, so the value may already be outdated. */
export async function availableCredits(
  db: Kysely<DB>,
  accountId: number,
  kind: CreditKind,
): Promise<number> {
  const balance = await db
    .selectFrom("credit_balances")
    .select("available")
    .where("account_id", "=", accountId)
    .where("kind", "=", kind)
    .executeTakeFirst();
  return balance?.available ?? 0;
}

/** The sums of a reservation's transfers; its remaining credit is reserved - captured - released. */
export type ReservationSums = {
  readonly reserved: number;
  readonly captured: number;
  readonly released: number;
  readonly refunded: number;
};

/** Returns the sums of a reservation's transfers so far. Refuses: not-found. */
export async function findReservation(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<ReservationSums> {
  const { rows } = await sql<ReservationSums>`
    select r.folded_reserved + t.reserved as reserved, r.folded_captured + t.captured as captured,
      r.folded_released + t.released as released, r.folded_refunded + t.refunded as refunded
    from credit_reservations r
    cross join (
      select
        coalesce(sum(amount) filter (where type = 'reserve'), 0)::bigint as reserved,
        coalesce(sum(amount) filter (where type = 'capture'), 0)::bigint as captured,
        coalesce(sum(amount) filter (where type = 'release'), 0)::bigint as released,
        coalesce(sum(amount) filter (where type = 'refund'), 0)::bigint as refunded
      from credit_transfers
      where account_id = ${accountId} and reservation_id = ${id}) t
    where r.account_id = ${accountId} and r.id = ${id}`.execute(db);
  const [sums] = rows;
  if (!sums) throw notFound();
  return sums;
}
