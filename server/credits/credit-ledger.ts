// Reads the ledger: every transfer of an account's credit.
import { sql, type Kysely, type RawBuilder } from "kysely";
import type { App } from "../engine/app.ts";
import { writeCsv } from "../lib/csv/write-csv.ts";
import { decodeCursor, isBelow, page } from "../lib/database/cursor.ts";
import type { DB } from "../lib/database/database.ts";
import { searches } from "../lib/database/searches.ts";
import {
  credit_kinds,
  credit_transfer_types,
  CreditTransferResponse,
  type CreditKind,
  type CreditTransferType,
} from "./credit-schema.ts";

const csv_page_rows = 1_000;

const columns = Object.keys(
  CreditTransferResponse.properties,
) as readonly (keyof CreditTransferResponse)[];

const order = { table: "credit_transfers", alias: "t", time: "at" } as const;

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
  const pages = partsOf(filter).map((part) => {
    const conditions = [sql`t.account_id = ${accountId}`, part, ...conditionsOf(accountId, filter)];
    if (before.id !== null) conditions.push(isBelow(order, accountId, before.id));
    return sql`(select t.* from credit_transfers t where ${sql.join(conditions, sql` and `)}
      order by t.at desc, t.id desc limit ${before.limit})`;
  });
  const query = sql<CreditTransferResponse & { readonly at: Date }>`
    select t.id, t.kind, t.type, t.amount, t.from_ledger_account as "from", t.to_ledger_account as "to", t.at,
      t.reservation_id, t.note,
      (select r.subject from credit_reservations r where r.account_id = ${accountId} and r.id = t.reservation_id)
    from (
      select * from (${sql.join(pages, sql` union all `)}) t
      order by t.at desc, t.id desc limit ${before.limit}) t
    order by t.at desc, t.id desc`;
  const { rows } = await searches.use(accountId, () => query.execute(db));
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
}

/** Returns the conditions of the parts that an index holds in the order of time: each kind and type, or of a reservation each type. */
function partsOf({ kind, type, reservation_id }: LedgerFilter): RawBuilder<unknown>[] {
  const types = type === undefined ? credit_transfer_types : [type];
  if (reservation_id !== undefined)
    return types.map((one) => sql`t.reservation_id = ${reservation_id} and t.type = ${one}`);
  const kinds = kind === undefined ? credit_kinds : [kind];
  return kinds.flatMap((of) => types.map((one) => sql`t.kind = ${of} and t.type = ${one}`));
}

function conditionsOf(
  accountId: number,
  { kind, reservation_id, from, to }: LedgerFilter,
): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = [];
  // All transfers of a reservation are of its kind, so that none is read if it is another one.
  if (kind !== undefined && reservation_id !== undefined)
    conditions.push(sql`${kind} = (select r.kind from credit_reservations r
      where r.account_id = ${accountId} and r.id = ${reservation_id})`);
  if (from) conditions.push(sql`t.at >= ${from}`);
  if (to) conditions.push(sql`t.at < ${to}`);
  return conditions;
}
