// The ledger: every movement of an account's credit.
import type { Kysely } from "kysely";
import { decodeCursor, page } from "../lib/cursor.ts";
import type { DB } from "../lib/database.ts";
import { searches } from "../lib/searches.ts";
import type { CreditKind, CreditTransferAnswer, CreditTransferType } from "./credit-schema.ts";

/** What a ledger is narrowed to; `from` is included, `to` is not. */
export type LedgerFilter = {
  readonly kind?: CreditKind | undefined;
  readonly type?: CreditTransferType | undefined;
  readonly reservation_id?: number | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

/** The account's transfers that pass the filter, newest first. */
export async function listCreditLedger(
  db: Kysely<DB>,
  accountId: number,
  filter: LedgerFilter,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: CreditTransferAnswer[]; next_cursor: string | null }> {
  let query = db
    .selectFrom("credit_transfers as t")
    .leftJoin("credit_reservations as r", (join) =>
      join.onRef("r.account_id", "=", "t.account_id").onRef("r.id", "=", "t.reservation_id"),
    )
    .select(["t.id", "t.kind", "t.type", "t.amount", "t.from_book as from", "t.to_book as to"])
    .select(["t.at", "t.reservation_id", "r.subject", "t.note"])
    .where("t.account_id", "=", accountId);
  if (filter.kind !== undefined) query = query.where("t.kind", "=", filter.kind);
  if (filter.type !== undefined) query = query.where("t.type", "=", filter.type);
  if (filter.reservation_id !== undefined)
    query = query.where("t.reservation_id", "=", filter.reservation_id);
  if (filter.from) query = query.where("t.at", ">=", filter.from);
  if (filter.to) query = query.where("t.at", "<", filter.to);
  if (cursor !== undefined) query = query.where("t.id", "<", decodeCursor(cursor));
  query = query.orderBy("t.id", "desc").limit(limit + 1);
  const { rows, next } = page(await searches.use(accountId, () => query.execute()), limit);
  const data = rows.map((row) => ({
    ...row,
    kind: row.kind as CreditKind,
    type: row.type as CreditTransferType,
    at: row.at.toISOString(),
  }));
  return { data, next_cursor: next };
}
