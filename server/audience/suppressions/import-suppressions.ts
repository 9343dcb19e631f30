// Imports suppressions from an uploaded CSV file.
import { lockUnfrozen } from "../../accounts/accounts/is-frozen.ts";
import type pg from "pg";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { clientTransaction } from "../../lib/database/client-transaction.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { isLonger } from "../../lib/csv/is-longer.ts";
import { parseTime } from "../../lib/parse-time.ts";
import {
  import_seconds_max,
  default_phone_column,
  locatePeopleColumn,
  queryPeople,
  stagePeople,
} from "../intake/stage-people.ts";
import { reasonAgainstExpiry, type Locale } from "./validate-suppression.ts";
import { lasts_longer } from "./suppress.ts";
import { channels, scopes, type SuppressionImport } from "./suppression-schema.ts";

/** A complete upload: an open file and the text of the other parts. */
export type SuppressionFile = {
  readonly fd: number | null;
  readonly fields: ReadonlyMap<string, string>;
};

/**
 * Suppresses every number of the file like `suppress`, in one transaction. Rows without a valid number are
 * counted and the first of them listed. Refuses: validation-failed for a missing or unreadable file, a
 * missing column and invalid values of the other parts. The file may wait for others of the account: `reauthorize` throws
 * if the caller may no longer import it then.
 */
export async function importSuppressions(
  app: App,
  actor: Actor,
  locale: Locale,
  upload: SuppressionFile,
  reauthorize: () => Promise<void>,
): Promise<SuppressionImport> {
  const now = app.clock.now();
  const { violations, ...options } = readFields(upload.fields, locale, now);
  if (upload.fd === null) violations.unshift({ field: "file", reason: "is required" });
  if (upload.fd === null || violations.length > 0) throw invalid(violations);
  const { fd } = upload;
  const { account_id } = actor;
  return csvParsing.use(account_id, async () => {
    await reauthorize();
    return clientTransaction(app.db, import_seconds_max, async (tx, client) => {
      await lockUnfrozen(tx, account_id);
      const { people_count, ...staged } = await stagePeople(client, fd, (header) => {
        const header_violations: FieldError[] = [];
        const field = "phone_number_column";
        const phone_at = locatePeopleColumn(header, options.column, field, header_violations);
        if (header_violations.length > 0) throw invalid(header_violations);
        return { country_code: locale.country_code, phone_at, name_at: -1, variables: [] };
      });
      const changed_count = await insertPeople(client, [
        account_id,
        options.channel,
        options.scope,
        options.reason,
        options.expires_at,
        actor.user_id,
        now,
      ]);
      const { channel, scope, expires_at } = options;
      const detail = { suppressed: people_count, channel, scope, expires_at };
      const action = "suppressions.imported";
      await recordAudit(tx, actor, { at: now, action, subject_id: null, detail });
      return { ...staged, suppressed_count: people_count, changed_count };
    });
  });
}

/** Rows of one statement: they are counted by what it returns, which is held in memory. */
const insert_rows_max = 50_000;

/** Suppresses all of `people`, in the order of phone keys, and returns how many changed. */
async function insertPeople(client: pg.PoolClient, values: unknown[]): Promise<number> {
  let changed = 0;
  for (let after = ""; ;) {
    const { rows } = await queryPeople<{ phone_key: string }>(client, chunk_end_sql, [
      after,
      insert_rows_max - 1,
    ]);
    const end = rows[0]?.phone_key ?? null;
    const inserted = await queryPeople(client, insert_sql, [...values, after, end]);
    changed += inserted.rows.length;
    if (end === null) return changed;
    after = end;
  }
}

const chunk_end_sql = `
  select phone_key from people where phone_key > $1 order by phone_key offset $2 limit 1`;

const insert_sql = `
  insert into suppressions as existing
    (account_id, person_key, phone, channel, scope, reason, source, expires_at, created_by, occurred_at,
    created_at)
  select $1::bigint, phone_key, phone, $2, $3, $4, 'import', $5::timestamptz, $6::bigint,
    $7::timestamptz, $7::timestamptz
  from people where phone_key > $8 and ($9::text is null or phone_key <= $9) order by phone_key
  on conflict (account_id, person_key, channel, scope, source) do update set
    reason = excluded.reason, expires_at = excluded.expires_at, created_by = excluded.created_by,
    occurred_at = excluded.occurred_at, created_at = excluded.created_at
  where ${lasts_longer}
  returning 1`;

/** Validates the parts beside the file; an empty part equals an omitted one. */
function readFields(fields: ReadonlyMap<string, string>, locale: Locale, now: Date) {
  const violations: FieldError[] = [];
  const oneOf = <Value extends string>(field: string, values: readonly [Value, ...Value[]]) => {
    const text = fields.get(field) || values[0];
    const known = values.find((value) => value === text);
    if (!known) violations.push({ field, reason: `must be one of ${values.join(", ")}` });
    return known ?? values[0];
  };
  const channel = oneOf("channel", channels);
  const scope = oneOf("scope", scopes);
  const reason = fields.get("reason") || "import";
  if (isLonger(reason, 255))
    violations.push({ field: "reason", reason: "must have at most 255 characters" });
  const expiry = fields.get("expires_at") || null;
  const expiryReason = expiry === null ? null : reasonAgainstExpiry(expiry, locale.time_zone, now);
  if (expiryReason !== null) violations.push({ field: "expires_at", reason: expiryReason });
  const column = (fields.get("phone_number_column") || default_phone_column).trim();
  const expires_at = expiry === null ? null : parseTime(expiry, locale.time_zone);
  return { violations, column, channel, scope, reason, expires_at };
}
