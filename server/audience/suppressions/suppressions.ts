// Reads the account's suppression list.
import type { Kysely, Selectable } from "kysely";
import type { App } from "../../engine/app.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import {
  decodeCursor,
  endOfSearch,
  page,
  readBounded,
  searchParts,
  type BoundedRows,
  type SearchedPart,
} from "../../lib/database/cursor.ts";
import { statement, type DB, type Executor } from "../../lib/database/database.ts";
import { searches } from "../../lib/database/searches.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import { findPersonKey, type Person } from "./person-key.ts";
import {
  SuppressionResponse,
  type Channel,
  type Evidence,
  type Scope,
  type SuppressionSource,
} from "./suppression-schema.ts";

const statement_phones_max = 10_000;
const csv_page_rows = 1_000;

const columns = Object.keys(
  SuppressionResponse.properties,
) as readonly (keyof SuppressionResponse)[];

/** What a message or call would be. */
export type Outreach = {
  readonly channel: Exclude<Channel, "all">;
  /** Whether suppressions of marketing also forbid it. */
  readonly is_marketing: boolean;
};

/** Calls have no category, so each counts as marketing. */
export const call_outreach: Outreach = { channel: "voice", is_marketing: true };

/** Returns what a message with a template of this category is; null: without a template. */
export function messageOutreach(category: string | null): Outreach {
  const is_marketing = category !== "UTILITY" && category !== "AUTHENTICATION";
  return { channel: "chat", is_marketing };
}

const findSuppressed = statement<{ person_key: string }>(`
  select distinct person_key from suppressions
  where account_id = $1 and person_key = any($2::text[]) and channel in ('all', $3)
    and ($4 or scope = 'all') and (expires_at is null or expires_at > $5)`);

type Alias = { readonly phone_key: string; readonly alias_key: string };

const findAliases = statement<Alias>(
  "select phone_key, alias_key from phone_aliases where account_id = $1 and phone_key = any($2::text[])",
);

/**
 * Returns which of the phones (E.164 digits) are suppressed at `now`, in any spelling. As isSuppressed, messages follow
 * WhatsApp's aliases.
 */
export async function suppressedAmong(
  db: Executor,
  accountId: number,
  outreach: Outreach,
  phones: readonly string[],
  now: Date,
): Promise<Set<string>> {
  const found = new Set<string>();
  const { channel, is_marketing } = outreach;
  for (let at = 0; at < phones.length; at += statement_phones_max) {
    const some = phones.slice(at, at + statement_phones_max);
    const keys = some.map(phoneKey);
    const aliases = channel === "chat" ? await findAliases(db, [accountId, keys]) : [];
    const all = [...keys, ...aliases.map(({ alias_key }) => alias_key)];
    const rows = await findSuppressed(db, [accountId, all, channel, is_marketing, now]);
    const suppressed = new Set(rows.map(({ person_key }) => person_key));
    const by_alias = new Set(
      aliases.flatMap(({ phone_key, alias_key }) => (suppressed.has(alias_key) ? phone_key : [])),
    );
    for (const [i, phone] of some.entries())
      if (suppressed.has(keys[i]!) || by_alias.has(keys[i]!)) found.add(phone);
  }
  return found;
}

/**
 * Reports whether the person is suppressed at `now`, under any of their identities that are known. WhatsApp's
 * aliases of a phone count for messages only: a call goes to the number itself.
 */
export async function isSuppressed(
  db: Executor,
  accountId: number,
  outreach: Outreach,
  person: Person,
  now: Date,
): Promise<boolean> {
  const key = await findPersonKey(db, accountId, person);
  const { channel, is_marketing } = outreach;
  const aliases = channel === "chat" ? await findAliases(db, [accountId, [key]]) : [];
  const keys = [key, ...aliases.map(({ alias_key }) => alias_key)];
  const rows = await findSuppressed(db, [accountId, keys, channel, is_marketing, now]);
  return rows.length > 0;
}

// Replies and the provider's suppressions have the provider's time, as `since`; the others have ours, which may be behind.
const findLater = statement<{ id: number }>(`
  select id from suppressions
  where account_id = $1 and person_key = any($2::text[]) and channel in ('all', 'chat') and scope = 'all'
    and occurred_at >= $3::timestamptz - case when source in ('reply', 'provider') then interval '0' else interval '1 minute' end
    and (expires_at is null or expires_at > $4)
  limit 1`);

/**
 * Reports whether a suppression of all messages to the person is in force that was asked for at `since` (the provider's
 * time) or later. An older one does not stop an answer to what the person wrote at `since`.
 */
export async function wasSuppressedSince(
  db: Executor,
  accountId: number,
  person: Person,
  { since, now }: { readonly since: Date; readonly now: Date },
): Promise<boolean> {
  const key = await findPersonKey(db, accountId, person);
  const aliases = await findAliases(db, [accountId, [key]]);
  const keys = [key, ...aliases.map(({ alias_key }) => alias_key)];
  return (await findLater(db, [accountId, keys, since, now])).length > 0;
}

export type SuppressionFilter = {
  /** E.164 digits; matches every spelling. */
  readonly phone?: string;
  readonly channel?: Channel;
  readonly scope?: Scope;
  readonly source?: SuppressionSource;
  readonly active?: boolean;
};

/** Returns a page of suppressions, newest first. Refuses: validation-failed on a cursor of another list. */
export async function listSuppressions(
  db: Kysely<DB>,
  accountId: number,
  filter: SuppressionFilter,
  at: { limit: number; cursor?: string | undefined; now: Date },
): Promise<{ data: SuppressionResponse[]; next_cursor: string | null }> {
  const id = at.cursor === undefined ? null : decodeCursor(at.cursor);
  const from = { id, limit: at.limit + 1, now: at.now };
  const found = await searchSuppressions(db, accountId, filter, from);
  const { rows, next } = page(found, at.limit, found.end);
  return { data: rows, next_cursor: next };
}

/** Returns the newest matching suppressions below one with an ID (null: of all), of those that a page searches. */
async function searchSuppressions(
  db: Kysely<DB>,
  accountId: number,
  filter: SuppressionFilter,
  before: { readonly id: number | null; readonly limit: number; readonly now: Date },
): Promise<SearchedPart<SuppressionResponse>> {
  let all = db
    .selectFrom("suppressions")
    .select("id")
    .where("account_id", "=", accountId)
    .orderBy("id", "desc");
  if (before.id !== null) all = all.where("id", "<", before.id);
  const end = filter.phone === undefined ? await endOfSearch(all) : null;
  return { ...(await suppressionsBefore(db, accountId, filter, { ...before, end })), end };
}

/**
 * Streams the suppressions that match the filter, newest first, as chunks of CSV with a header line.
 * Numbers include their plus, so that an import reads the same numbers.
 */
export function exportSuppressions(
  { db }: Pick<App, "db">,
  accountId: number,
  filter: SuppressionFilter,
  now: Date,
): AsyncGenerator<string> {
  return writeCsv<SuppressionResponse>({
    header: columns,
    page_rows: csv_page_rows,
    next: (after, limit) =>
      searchParts(after?.id ?? null, (id) =>
        searchSuppressions(db.query, accountId, filter, { id, limit, now }),
      ),
    cells: (row) =>
      columns.map((column) =>
        column === "phone_number" && row.phone_number !== null
          ? `+${row.phone_number}`
          : row[column],
      ),
  });
}

async function suppressionsBefore(
  db: Kysely<DB>,
  accountId: number,
  filter: SuppressionFilter,
  before: { id: number | null; end: number | null; limit: number; now: Date },
): Promise<BoundedRows<SuppressionResponse>> {
  const { phone, channel, scope, source, active } = filter;
  const { now } = before;
  let query = db
    .selectFrom("suppressions")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("lifted_at", "is", null);
  if (before.id !== null) query = query.where("id", "<", before.id);
  if (before.end !== null) query = query.where("id", ">=", before.end);
  if (phone !== undefined) query = query.where("person_key", "=", phoneKey(phone));
  if (channel !== undefined) query = query.where("channel", "=", channel);
  if (scope !== undefined) query = query.where("scope", "=", scope);
  if (source !== undefined) query = query.where("source", "=", source);
  if (active === true)
    query = query.where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", now)]));
  if (active === false) query = query.where("expires_at", "<=", now);
  const newest = query.orderBy("id", "desc").limit(before.limit);
  const { rows, isCut } = await searches.use(accountId, () =>
    readBounded(db, newest, { large: ["evidence"], order: "id desc" }),
  );
  return { rows: rows.map((row) => suppressionResponse(row, now)), isCut };
}

/** Converts a row to its API representation. */
export function suppressionResponse(
  row: Selectable<DB["suppressions"]>,
  now: Date,
): SuppressionResponse {
  return {
    id: row.id,
    phone_number: row.phone,
    bsuid: row.bsuid,
    channel: row.channel as Channel,
    scope: row.scope as Scope,
    reason: row.reason,
    source: row.source as SuppressionSource,
    expires_at: row.expires_at?.toISOString() ?? null,
    active: row.expires_at === null || row.expires_at > now,
    created_by: row.created_by,
    occurred_at: row.occurred_at.toISOString(),
    evidence: row.evidence as Evidence | null,
    created_at: row.created_at.toISOString(),
  };
}
