// Whom not to write to or call.
import type { Kysely, Selectable } from "kysely";
import type { App } from "../../engine/app.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import { statement, type DB, type Executor } from "../../lib/database/database.ts";
import { searches } from "../../lib/database/searches.ts";
import { SuppressionAnswer, type Channel, type SuppressionSource } from "./suppression-schema.ts";

const phones_a_statement = 10_000;
const csv_page_rows = 1_000;

const columns = Object.keys(SuppressionAnswer.properties) as readonly (keyof SuppressionAnswer)[];

const findSuppressed = statement<{ phone: string }>(`
  select distinct phone from suppressions
  where account_id = $1 and phone = any($2::text[]) and channel in ('all', $3)
    and (expires_at is null or expires_at > $4)`);

/** Which of the phones (E.164 digits) the channel is kept from at `now`. */
export async function suppressedAmong(
  db: Executor,
  accountId: number,
  channel: Exclude<Channel, "all">,
  phones: readonly string[],
  now: Date,
): Promise<Set<string>> {
  const found = new Set<string>();
  for (let at = 0; at < phones.length; at += phones_a_statement) {
    const some = phones.slice(at, at + phones_a_statement);
    const rows = await findSuppressed(db, [accountId, some, channel, now]);
    for (const { phone } of rows) found.add(phone);
  }
  return found;
}

/** Whether the channel is kept from the phone (E.164 digits) at `now`. */
export async function isSuppressed(
  db: Executor,
  accountId: number,
  channel: Exclude<Channel, "all">,
  phone: string,
  now: Date,
): Promise<boolean> {
  return (await suppressedAmong(db, accountId, channel, [phone], now)).size > 0;
}

export type SuppressionFilter = {
  /** E.164 digits. */
  readonly phone?: string;
  readonly channel?: Channel;
  readonly source?: SuppressionSource;
  readonly active?: boolean;
};

/** A page of suppressions, newest first; 422 on a cursor that is not of this list. */
export async function listSuppressions(
  db: Kysely<DB>,
  accountId: number,
  filter: SuppressionFilter,
  at: { limit: number; cursor?: string | undefined; now: Date },
): Promise<{ data: SuppressionAnswer[]; next_cursor: string | null }> {
  const before = at.cursor === undefined ? null : decodeCursor(at.cursor);
  const from = { id: before, limit: at.limit + 1, now: at.now };
  const { rows, next } = page(await suppressionsBefore(db, accountId, filter, from), at.limit);
  return { data: rows, next_cursor: next };
}

/**
 * The suppressions that the filter lets through, newest first, as chunks of CSV with a header line;
 * numbers have their plus, so that the import takes each for what it is.
 */
export function exportSuppressions(
  { db }: Pick<App, "db">,
  accountId: number,
  filter: SuppressionFilter,
  now: Date,
): AsyncGenerator<string> {
  return writeCsv<SuppressionAnswer>({
    header: columns,
    page_rows: csv_page_rows,
    next: (after, limit) =>
      suppressionsBefore(db.query, accountId, filter, { id: after?.id ?? null, limit, now }),
    cells: (row) =>
      columns.map((column) => (column === "phone_number" ? `+${row.phone_number}` : row[column])),
  });
}

async function suppressionsBefore(
  db: Kysely<DB>,
  accountId: number,
  filter: SuppressionFilter,
  before: { id: number | null; limit: number; now: Date },
): Promise<SuppressionAnswer[]> {
  const { phone, channel, source, active } = filter;
  const { now } = before;
  let query = db.selectFrom("suppressions").selectAll().where("account_id", "=", accountId);
  if (before.id !== null) query = query.where("id", "<", before.id);
  if (phone !== undefined) query = query.where("phone", "=", phone);
  if (channel !== undefined) query = query.where("channel", "=", channel);
  if (source !== undefined) query = query.where("source", "=", source);
  if (active === true)
    query = query.where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", now)]));
  if (active === false) query = query.where("expires_at", "<=", now);
  const bounded = query.orderBy("id", "desc").limit(before.limit);
  const rows = await searches.use(accountId, () => bounded.execute());
  return rows.map((row) => suppressionAnswer(row, now));
}

/** A suppression as the API shows it. */
export function suppressionAnswer(
  row: Selectable<DB["suppressions"]>,
  now: Date,
): SuppressionAnswer {
  return {
    id: row.id,
    phone_number: row.phone,
    channel: row.channel as Channel,
    reason: row.reason,
    source: row.source as SuppressionSource,
    expires_at: row.expires_at?.toISOString() ?? null,
    active: row.expires_at === null || row.expires_at > now,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
  };
}
