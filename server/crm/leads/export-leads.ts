// Exports leads as CSV.
import type { App } from "../../engine/app.ts";
import { writeCsv, type Cell } from "../../lib/csv/write-csv.ts";
import { searchParts } from "../../lib/database/cursor.ts";
import { searchLeads, type LeadFilter } from "./list-leads.ts";
import type { LeadRecord } from "./lead-record.ts";
import type { CustomField, WorkspaceSchema } from "../workspaces/workspace-schema.ts";

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
 * Streams the leads that match the filter, newest first, as CSV with a header; the workspace's custom fields
 * follow as columns `customFields.<key>`.
 */
export function exportLeads(
  app: App,
  accountId: number,
  schema: WorkspaceSchema,
  filter: LeadFilter,
): AsyncGenerator<string> {
  const fields = [...schema.fields.values()];
  const emails = new Map<number, string>();
  return writeCsv<LeadRecord>({
    header: [...columns, ...fields.map(({ key }) => `customFields.${key}`)],
    page_rows,
    next: async (after, limit) => {
      const { workspace_id } = schema;
      const found = await searchParts(after?.id ?? null, (id) =>
        searchLeads(app.db.query, accountId, workspace_id, filter, { id, limit }),
      );
      await learnEmails(app, accountId, found.rows, emails);
      return found;
    },
    cells: (row) => cellsOf(row, fields, emails),
  });
}

function cellsOf(
  row: LeadRecord,
  fields: readonly CustomField[],
  emails: ReadonlyMap<number, string>,
): Cell[] {
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
    row.created_at,
    row.updated_at,
    ...fields.map(({ key }) => cellOf(Object.hasOwn(custom, key) ? custom[key] : null)),
  ];
}

/** Formats a custom value as the import reads it. A list becomes JSON if a choice contains the separator. */
function cellOf(value: unknown): Cell {
  if (!Array.isArray(value)) return value as Cell;
  return value.some((choice: string) => choice.includes(";")) ? value : value.join(";");
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
