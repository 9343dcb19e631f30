// Reads an account's credit and the sums of one reservation.
import { sql, type Kysely } from "kysely";
import type { DB } from "../lib/database/database.ts";
import { notFound } from "../lib/errors.ts";
import type { CreditKind, CreditsResponse } from "./credit-schema.ts";

/** Returns the available and reserved credit of each kind, from one snapshot; zeros without a grant. */
export async function findCredits(db: Kysely<DB>, accountId: number): Promise<CreditsResponse> {
  const { rows } = await sql<{ kind: CreditKind; available: number; reserved: number }>`
    select b.kind, b.available, coalesce((
      select sum(r.folded_reserved - r.folded_captured - r.folded_released) from credit_reservations r
      where r.account_id = ${accountId} and r.kind = b.kind and r.closed_at is null
    ), 0)::bigint + coalesce((
      select sum(case when t.type = 'reserve' then t.amount else -t.amount end)
      from credit_reservations r
      join credit_transfers t on t.account_id = r.account_id and t.reservation_id = r.id
      where r.account_id = ${accountId} and r.kind = b.kind and r.closed_at is null
        and t.account_id = ${accountId} and t.type in ('reserve', 'capture', 'release')
    ), 0)::bigint as reserved
    from credit_balances b where b.account_id = ${accountId}`.execute(db);
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
