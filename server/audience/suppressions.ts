// Whom not to write to or call.
import type { Kysely, Selectable } from "kysely";
import { decodeCursor, page } from "../lib/cursor.ts";
import { statement, type DB, type Executor } from "../lib/database.ts";
import { searches } from "../lib/searches.ts";
import type { Channel, SuppressionAnswer, SuppressionSource } from "./suppression-schema.ts";

const phones_a_statement = 10_000;

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
  const { phone, channel, source, active } = filter;
  let query = db.selectFrom("suppressions").selectAll().where("account_id", "=", accountId);
  if (at.cursor !== undefined) query = query.where("id", "<", decodeCursor(at.cursor));
  if (phone !== undefined) query = query.where("phone", "=", phone);
  if (channel !== undefined) query = query.where("channel", "=", channel);
  if (source !== undefined) query = query.where("source", "=", source);
  if (active === true)
    query = query.where((eb) =>
      eb.or([eb("expires_at", "is", null), eb("expires_at", ">", at.now)]),
    );
  if (active === false) query = query.where("expires_at", "<=", at.now);
  query = query.orderBy("id", "desc").limit(at.limit + 1);
  const { rows, next } = page(await searches.use(accountId, () => query.execute()), at.limit);
  return { data: rows.map((row) => suppressionAnswer(row, at.now)), next_cursor: next };
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
