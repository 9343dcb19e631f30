// Picklists and custom fields of a workspace in one version, cached per process. create_leads compares the
// version, so an outdated copy cannot admit an invalid lead; a lead that it would reject is validated again
// against a fresh copy.
import { LRUCache } from "lru-cache";
import type { App } from "../../engine/app.ts";
import { statement, type Executor } from "../../lib/database/database.ts";

export type Picklist = "status" | "source" | "priority";

export type PicklistOption = {
  readonly id: number;
  readonly picklist: Picklist;
  /** Machine value. */
  readonly value: string;
  /** Display text. */
  readonly label: string;
  readonly color: string | null;
  readonly is_default: boolean;
  readonly archived: boolean;
};

export type CustomFieldType = "text" | "number" | "boolean" | "date" | "select" | "multiselect";

export type CustomField = {
  readonly id: number;
  readonly key: string;
  readonly label: string;
  readonly type: CustomFieldType;
  readonly required: boolean;
  readonly options: readonly string[];
};

export type WorkspaceSchema = {
  readonly workspace_id: number;
  readonly version: number;
  /** Includes archived options, which older leads still show. */
  readonly options: ReadonlyMap<number, PicklistOption>;
  readonly default_status: PicklistOption;
  readonly default_priority: PicklistOption;
  /** By key, without archived fields. */
  readonly fields: ReadonlyMap<string, CustomField>;
};

export type WorkspaceSchemas = {
  /** Returns the schema of an active workspace of the account, or null. */
  find(accountId: number, workspaceId: number): Promise<WorkspaceSchema | null>;
  /** Reads and returns it again. */
  refresh(accountId: number, workspaceId: number): Promise<WorkspaceSchema | null>;
};

const fresh_ms = 30_000;
const entries_max = 10_000;

type Entry = { readonly schema: WorkspaceSchema; readonly read_at_ms: number };

/** Opens a cache of the `max` most recently used schemas. */
export function openWorkspaceSchemas(app: App, max = entries_max): WorkspaceSchemas {
  const entries = new LRUCache<string, Entry>({ max });
  let notifications_received = 0;
  app.notifications.on("workspace", (subject) => {
    notifications_received++;
    entries.delete(subject);
  });

  const refresh = async (accountId: number, workspaceId: number) => {
    const subject = workspaceSubject(accountId, workspaceId);
    const read_at_ms = performance.now();
    const received_before = notifications_received;
    const schema = await readWorkspaceSchema(app.db.pool, accountId, workspaceId);
    // A notification during the read may be about this workspace, so the result is used but not cached.
    if (received_before !== notifications_received) return schema;
    const kept = entries.get(subject);
    if (!schema) entries.delete(subject);
    else if (!kept || kept.schema.version <= schema.version) {
      entries.set(subject, { schema, read_at_ms });
    }
    return schema;
  };

  return {
    refresh,
    async find(accountId, workspaceId) {
      const entry = entries.get(workspaceSubject(accountId, workspaceId));
      if (entry && performance.now() - entry.read_at_ms < fresh_ms) return entry.schema;
      return refresh(accountId, workspaceId);
    },
  };
}

/** Returns a workspace's name in notifications. */
export function workspaceSubject(accountId: number, workspaceId: number): string {
  return `${accountId}:${workspaceId}`;
}

const findSchema = statement<{
  version: number;
  options: PicklistOption[];
  fields: CustomField[];
}>(`
  select w.schema_version as version,
    (select coalesce(json_agg(json_build_object('id', o.id, 'picklist', o.picklist, 'value', o.value,
        'label', o.label, 'color', o.color, 'is_default', o.is_default,
        'archived', o.archived_at is not null) order by o.position, o.id), '[]')
      from picklist_options o
      where o.account_id = $1 and o.workspace_id = w.id) as options,
    (select coalesce(json_agg(json_build_object('id', f.id, 'key', f.key, 'label', f.label,
        'type', f.type, 'required', f.required, 'options', f.options) order by f.position, f.id), '[]')
      from custom_fields f
      where f.account_id = $1 and f.workspace_id = w.id and f.archived_at is null) as fields
  from workspaces w
  where w.account_id = $1 and w.id = $2 and w.active`);

/** Returns the schema of an active workspace as `executor` sees it, or null; for writers that hold its lock. */
export async function readWorkspaceSchema(
  executor: Executor,
  accountId: number,
  workspaceId: number,
): Promise<WorkspaceSchema | null> {
  const [row] = await findSchema(executor, [accountId, workspaceId]);
  if (!row) return null;
  const defaultOf = (picklist: Picklist): PicklistOption => {
    const found = row.options.find((option) => option.picklist === picklist && option.is_default);
    if (!found)
      throw new Error(
        `workspace ${workspaceId} of account ${accountId} has no default ${picklist}`,
      );
    return found;
  };
  return {
    workspace_id: workspaceId,
    version: row.version,
    options: new Map(row.options.map((option) => [option.id, option])),
    default_status: defaultOf("status"),
    default_priority: defaultOf("priority"),
    fields: new Map(row.fields.map((field) => [field.key, field])),
  };
}
