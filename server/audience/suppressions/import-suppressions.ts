// Takes an uploaded list of numbers not to write to or call.
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { clientTransaction } from "../../lib/database/client-transaction.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { parseTime } from "../../lib/parse-time.ts";
import {
  import_seconds_max,
  default_phone_column,
  locatePeopleColumn,
  queryPeople,
  stagePeople,
} from "../intake/stage-people.ts";
import { reasonAgainstExpiry, type Locale } from "./validate-suppression.ts";
import { holds_longer } from "./suppress.ts";
import { channels, type Channel, type SuppressionImport } from "./suppression-schema.ts";

/** An upload that has arrived in full: an open file and the text of the other parts. */
export type SuppressionFile = {
  readonly fd: number | null;
  readonly fields: ReadonlyMap<string, string>;
};

/**
 * Suppresses every number of the file like `suppress`, in one transaction. Rows without a readable
 * number are counted and the first of them told. Refuses with validation-failed a missing or
 * unreadable file, a column that it does not have, and wrong values of the other parts.
 */
export async function importSuppressions(
  app: App,
  actor: Actor,
  locale: Locale,
  upload: SuppressionFile,
): Promise<SuppressionImport> {
  const now = app.clock.now();
  const { violations, ...asked } = readFields(upload.fields, locale, now);
  if (upload.fd === null) violations.unshift({ field: "file", reason: "is required" });
  if (upload.fd === null || violations.length > 0) throw invalid(violations);
  const { fd } = upload;
  const { account_id } = actor;
  return csvParsing.use(account_id, () =>
    clientTransaction(app.db, import_seconds_max, async (tx, client) => {
      const { people_count, ...staged } = await stagePeople(client, fd, (header) => {
        const of_header: FieldError[] = [];
        const field = "phone_number_column";
        const phone_at = locatePeopleColumn(header, asked.column, field, of_header);
        if (of_header.length > 0) throw invalid(of_header);
        return { country_code: locale.country_code, phone_at, name_at: -1, variables: [] };
      });
      const { rowCount } = await queryPeople(client, insert_sql, [
        account_id,
        asked.channel,
        asked.reason,
        asked.expires_at,
        actor.user_id,
        now,
      ]);
      const { channel, expires_at } = asked;
      const detail = { suppressed: people_count, channel, expires_at };
      const action = "suppressions.imported";
      await recordAudit(tx, actor, { at: now, action, subject_id: null, detail });
      return { ...staged, suppressed_count: people_count, changed_count: rowCount ?? 0 };
    }),
  );
}

const insert_sql = `
  insert into suppressions as held
    (account_id, phone, channel, reason, source, expires_at, created_by, created_at)
  select $1::bigint, phone, $2, $3, 'import', $4::timestamptz, $5::bigint, $6::timestamptz
  from people order by phone
  on conflict (account_id, phone, channel) do update set
    reason = excluded.reason, source = excluded.source, expires_at = excluded.expires_at,
    created_by = excluded.created_by, created_at = excluded.created_at
  where ${holds_longer}`;

/** The parts beside the file; an empty one is one left out. */
function readFields(fields: ReadonlyMap<string, string>, locale: Locale, now: Date) {
  const violations: FieldError[] = [];
  const channel = fields.get("channel") || "all";
  if (!channels.includes(channel as Channel))
    violations.push({ field: "channel", reason: `must be one of ${channels.join(", ")}` });
  const reason = fields.get("reason") || "import";
  if (reason.length > 255)
    violations.push({ field: "reason", reason: "must have at most 255 characters" });
  const expiry = fields.get("expires_at") || null;
  const expiryReason = expiry === null ? null : reasonAgainstExpiry(expiry, locale.time_zone, now);
  if (expiryReason !== null) violations.push({ field: "expires_at", reason: expiryReason });
  const column = (fields.get("phone_number_column") || default_phone_column).trim();
  const expires_at = expiry === null ? null : parseTime(expiry, locale.time_zone);
  return { violations, column, channel, reason, expires_at };
}
