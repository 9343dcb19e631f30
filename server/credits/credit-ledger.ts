// Reads the ledger: every transfer of an account's credit.
import type { Kysely } from "kysely";
import type { App } from "../engine/app.ts";
import { writeCsv } from "../lib/csv/write-csv.ts";
import { decodeCursor, page } from "../lib/database/cursor.ts";
import type { DB } from "../lib/database/database.ts";
import { searches } from "../lib/database/searches.ts";
import {
  CreditTransferResponse,
  type CreditKind,
  type CreditTransferType,
} from "./credit-schema.ts";

const csv_page_rows = 1_000;

const columns = Object.keys(
  CreditTransferResponse.properties,
) as readonly (keyof CreditTransferResponse)[];

/** The filters of the ledger; `from` is inclusive, `to` is exclusive. */
export type LedgerFilter = {
  readonly kind?: CreditKind | undefined;
  readonly type?: CreditTransferType | undefined;
  readonly reservation_id?: number | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

/** Returns a page of the transfers that match the filter, newest first. Refuses: validation-failed on a cursor of another list. */
export async function listCreditLedger(
  db: Kysely<DB>,
  accountId: number,
  filter: LedgerFilter,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: CreditTransferResponse[]; next_cursor: string | null }> {
  const before = cursor === undefined ? null : decodeCursor(cursor);
  const found = await transfersBefore(db, accountId, filter, { id: before, limit: limit + 1 });
  const { rows, next } = page(found, limit);
  return { data: rows, next_cursor: next };
}

/** Streams all transfers that match the filter, newest first, as chunks of CSV with a header line. */
export function exportCreditLedger(
  { db }: Pick<App, "db">,
  accountId: number,
  filter: LedgerFilter,
): AsyncGenerator<string> {
  return writeCsv<CreditTransferResponse>({
    header: columns,
    page_rows: csv_page_rows,
    next: (after, limit) =>
      transfersBefore(db.query, accountId, filter, { id: after?.id ?? null, limit }),
    cells: (row) => columns.map((column) => row[column]),
  });
}

async function transfersBefore(
  db: Kysely<DB>,
  accountId: number,
  filter: LedgerFilter,
  before: { id: number | null; limit: number },
): Promise<CreditTransferResponse[]> {
  let query = db
    .selectFrom("credit_transfers as t")
    .leftJoin("credit_reservations as r", (join) =>
      join.onRef("r.account_id", "=", "t.account_id").onRef("r.id", "=", "t.reservation_id"),
    )
    .select([
      "t.id",
      "t.kind",
      "t.type",
      "t.amount",
      "t.from_ledger_account as from",
      "t.to_ledger_account as to",
    ])
    .select(["t.at", "t.reservation_id", "r.subject", "t.note"])
    .where("t.account_id", "=", accountId);
  if (filter.kind !== undefined) query = query.where("t.kind", "=", filter.kind);
  if (filter.type !== undefined) query = query.where("t.type", "=", filter.type);
  if (filter.reservation_id !== undefined)
    query = query.where("t.reservation_id", "=", filter.reservation_id);
  if (filter.from) query = query.where("t.at", ">=", filter.from);
  if (filter.to) query = query.where("t.at", "<", filter.to);
  if (before.id !== null) query = query.where("t.id", "<", before.id);
  const bounded = query.orderBy("t.id", "desc").limit(before.limit);
  const rows = await searches.use(accountId, () => bounded.execute());
  return rows.map((row) => ({
    ...row,
    kind: row.kind as CreditKind,
    type: row.type as CreditTransferType,
    at: row.at.toISOString(),
  }));
}
