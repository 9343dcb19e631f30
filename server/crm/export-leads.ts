// Leads as CSV, page by page: memory holds one page, no transaction stays open, and when nobody
// reads on, no further page is asked for.
import { stringify } from "csv-stringify/sync";
import type { App } from "../engine/app.ts";
import { leadsBefore, type LeadFilter } from "./list-leads.ts";
import type { LeadRecord } from "./lead-record.ts";
import type { CustomField, WorkspaceSchema } from "./workspace-schema.ts";

const page_rows = 500;

const columns = [
  "id",
  "name",
  "phone",
  "email",
  "status",
  "source",
  "priority",
  "assignedAgentEmail",
  "contactId",
  "contactName",
  "createdAt",
  "updatedAt",
];

/**
 * The leads that the filter lets through, newest first, as chunks of CSV with a header line; the
 * workspace's custom fields follow as columns `customFields.<key>`.
 */
export async function* exportLeads(
  app: App,
  accountId: number,
  schema: WorkspaceSchema,
  filter: LeadFilter,
): AsyncGenerator<string> {
  const fields = [...schema.fields.values()];
  yield csv([[...columns, ...fields.map(({ key }) => `customFields.${key}`)]]);
  const emails = new Map<number, string>();
  let before: number | null = null;
  for (;;) {
    const rows: LeadRecord[] = await leadsBefore(
      app.db.query,
      accountId,
      schema.workspace_id,
      filter,
      { id: before, limit: page_rows },
    );
    if (rows.length === 0) return;
    await learnEmails(app, accountId, rows, emails);
    yield csv(rows.map((row) => cellsOf(row, fields, emails)));
    if (rows.length < page_rows) return;
    before = rows.at(-1)!.id;
  }
}

/**
 * Text that a spreadsheet would run as a formula gets an apostrophe in front. Phones, times and
 * numbers start with none of its signs (a number cell is a number here), so they stay as they are.
 */
function csv(rows: unknown[][]): string {
  return stringify(rows, { escape_formulas: true, record_delimiter: "\r\n" });
}

function cellsOf(
  row: LeadRecord,
  fields: readonly CustomField[],
  emails: ReadonlyMap<number, string>,
): unknown[] {
  const custom = row.custom_fields as Record<string, unknown>;
  return [
    row.id,
    row.name,
    row.phone,
    row.email,
    row.status_label,
    row.source_label,
    row.priority_label,
    row.assigned_agent_id === null ? null : emails.get(row.assigned_agent_id),
    row.contact_id,
    row.contact_name,
    row.created_at.toISOString(),
    row.updated_at.toISOString(),
    ...fields.map(({ key }) => cellOf(Object.hasOwn(custom, key) ? custom[key] : null)),
  ];
}

/** A custom value as the import reads it back. */
function cellOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.join(";");
  return typeof value === "boolean" ? String(value) : value;
}

async function learnEmails(
  app: App,
  accountId: number,
  rows: readonly LeadRecord[],
  emails: Map<number, string>,
): Promise<void> {
  const unknown = rows
    .map((row) => row.assigned_agent_id)
    .filter((id) => id !== null)
    .filter((id) => !emails.has(id));
  if (unknown.length === 0) return;
  const users = await app.db.query
    .selectFrom("users")
    .select(["id", "email"])
    .where("account_id", "=", accountId)
    .where((eb) => eb("id", "=", eb.fn.any(eb.val([...new Set(unknown)]))))
    .execute();
  for (const user of users) emails.set(user.id, user.email);
}
