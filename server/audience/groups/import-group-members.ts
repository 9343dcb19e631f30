// Imports members of a group from an uploaded CSV file.
import { lockUnfrozen } from "../../accounts/accounts/is-frozen.ts";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { clientTransaction } from "../../lib/database/client-transaction.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { invalid, invalidField, type FieldError } from "../../lib/errors.ts";
import { variable_name_characters_max, type MemberImport } from "./group-schema.ts";
import { requireGroup } from "./groups.ts";
import {
  import_seconds_max,
  default_phone_column,
  locatePeopleColumn,
  queryPeople,
  stagePeople,
} from "../intake/stage-people.ts";
import { otherColumns } from "../intake/locate-column.ts";
import { changeGroupCount } from "./internal/change-group-count.ts";
import { touchGroup } from "./internal/touch-group.ts";

/** A complete upload: an open file and the text of the other parts. */
export type MemberFile = {
  readonly fd: number | null;
  readonly fields: ReadonlyMap<string, string>;
};

/**
 * Adds every row of the file like `addGroupMembers`, in one transaction. Each column with a header, except
 * phone and name, is a variable; empty cells are skipped. Invalid rows are counted and the first of them
 * listed. Refuses: not-found; validation-failed for a missing or unreadable file or a missing column. The file may wait
 * for others of the account: `reauthorize` throws if the caller may no longer import it then.
 */
export async function importGroupMembers(
  app: App,
  actor: Actor,
  group: { readonly id: number; readonly country_code: string },
  { fd, fields }: MemberFile,
  reauthorize: () => Promise<void>,
): Promise<MemberImport> {
  await requireGroup(app.db.query, actor.account_id, group.id);
  if (fd === null) throw invalidField("file", "is required");
  const { account_id } = actor;
  return csvParsing.use(account_id, async () => {
    await reauthorize();
    return clientTransaction(app.db, import_seconds_max, async (tx, client) => {
      await lockUnfrozen(tx, account_id);
      const { people_count, ...staged } = await stagePeople(client, fd, (header) => ({
        country_code: group.country_code,
        ...locateColumns(header, fields),
      }));
      // The wait and the reading take minutes, in which the group may change.
      const now = app.clock.now();
      await touchGroup(tx, account_id, group.id, now);
      const known = await queryPeople<{ count: number }>(client, count_known_sql, [
        account_id,
        group.id,
      ]);
      await queryPeople(client, insert_sql, [account_id, group.id, now]);
      const updated_count = known.rows[0]!.count;
      const added_count = people_count - updated_count;
      await changeGroupCount(tx, account_id, group.id, added_count);
      await recordAudit(tx, actor, {
        at: now,
        action: "group_members.imported",
        subject_id: group.id,
        detail: { added: added_count, updated: updated_count },
      });
      return { ...staged, added_count, updated_count };
    });
  });
}

const count_known_sql = `
  select count(*) from people join group_members using (phone_key)
  where group_members.account_id = $1 and group_members.group_id = $2`;

const insert_sql = `
  insert into group_members (account_id, group_id, phone_key, phone, name, variables, created_at)
  select $1::bigint, $2::bigint, phone_key, phone, name, variables, $3::timestamptz
  from people order by phone_key
  on conflict (account_id, group_id, phone_key) do update set
    phone = excluded.phone, name = excluded.name, variables = excluded.variables`;

function locateColumns(header: readonly string[], fields: ReadonlyMap<string, string>) {
  const violations: FieldError[] = [];
  const locate = (field: string, name: string) =>
    locatePeopleColumn(header, name.trim(), field, violations);
  const phone_at = locate(
    "phone_number_column",
    fields.get("phone_number_column") || default_phone_column,
  );
  const named = fields.get("name_column") || (header.includes("name") ? "name" : null);
  const name_at = named === null ? -1 : locate("name_column", named);
  const { columns: variables, doubled } = otherColumns(header, [phone_at, name_at]);
  if (variables.some(({ name }) => name.length > variable_name_characters_max)) {
    const reason = `must have headers of at most ${variable_name_characters_max} characters`;
    violations.push({ field: "file", reason });
  }
  if (doubled !== null) violations.push({ field: "file", reason: `has two columns "${doubled}"` });
  if (violations.length > 0) throw invalid(violations);
  return { phone_at, name_at, variables };
}
