// Deletes an option or a custom field that no lead uses, also where only the leads themselves say whether one does.
import { sql, type Kysely, type RawBuilder } from "kysely";
import { lockUnfrozen } from "../../../accounts/accounts/is-frozen.ts";
import type { Actor } from "../../../accounts/audit/record-audit.ts";
import type { App } from "../../../engine/app.ts";
import type { DB, Tx } from "../../../lib/database/database.ts";
import { searches } from "../../../lib/database/searches.ts";
import { Refusal } from "../../../lib/errors.ts";
import { lockWorkspace } from "../../workspaces/lock-workspace.ts";
import { recordWorkspaceChange } from "../../workspaces/record-workspace-change.ts";
import { workspaceSubject } from "../../workspaces/workspace-schema.ts";

/** Runs a transaction of the request, as RequestContext does. */
export type Write = (effect: (tx: Tx) => Promise<void>) => Promise<void>;

/** What to delete. */
export type Entry = {
  readonly kind: "picklist_option" | "custom_field";
  readonly workspace_id: number;
  readonly id: number;
  /** Whether an index finds the leads that use it. */
  readonly is_indexed: boolean;
  /** The audit entries' further detail. */
  readonly detail: Record<string, unknown>;
  /** Returns its state and the condition of the leads `l` that use it. Throws unless it can be deleted. */
  find(db: Kysely<DB>): Promise<{ archived_at: Date | null; usedBy: RawBuilder<boolean> }>;
};

const tables = { picklist_option: "picklist_options", custom_field: "custom_fields" } as const;
const actions = {
  picklist_option: { updated: "picklist_option.updated", deleted: "picklist_option.deleted" },
  custom_field: { updated: "custom_field.updated", deleted: "custom_field.deleted" },
} as const;
const words = { picklist_option: "option", custom_field: "custom field" } as const;

/**
 * Deletes the entry if no lead uses it, even while leads are being created. Without an index all leads of the
 * workspace are read, without a lock that writers of leads wait for: the entry is archived first, so that no lead
 * begins to use it, and restored if one has. Throws what `find` throws, and conflict for an entry in use.
 */
export async function deleteUnused(
  app: App,
  actor: Actor,
  entry: Entry,
  write: Write,
): Promise<void> {
  const isUsed = async () =>
    isUsedByLead(app, actor.account_id, entry, (await entry.find(app.db.query)).usedBy);
  if (entry.is_indexed) return write((tx) => remove(tx, app, actor, entry, null));
  // An entry in use stays as it is.
  if (await isUsed()) throw inUse(entry);
  const { archived_at, was_archived } = await archive(app, actor, entry);
  try {
    if (await isUsed()) throw inUse(entry);
    await write((tx) => remove(tx, app, actor, entry, archived_at));
  } catch (error) {
    if (!was_archived) await restore(app, actor, entry, archived_at);
    throw error;
  }
}

function inUse({ kind }: Entry): Refusal {
  return new Refusal(
    "conflict",
    `Leads use this ${words[kind]}, so it cannot be deleted; archive it with archived: true`,
  );
}

const batch_leads = 5_000;

/** Reads the leads of the workspace in batches, the newest first, and locks nothing. */
async function isUsedByLead(
  app: App,
  accountId: number,
  { workspace_id }: Entry,
  usedBy: RawBuilder<boolean>,
): Promise<boolean> {
  type Lead = { readonly at: string; readonly id: number; readonly is_used: boolean | null };
  for (let last: Lead | undefined; ;) {
    const below: RawBuilder<unknown> = last
      ? sql`(l.created_at, l.id) < (${last.at}::timestamptz, ${last.id}::bigint)`
      : sql`true`;
    const batch = sql<Lead>`
      select l.created_at::text as at, l.id, ${usedBy} as is_used from leads l
      where l.account_id = ${accountId} and l.workspace_id = ${workspace_id} and ${below}
      order by l.created_at desc, l.id desc limit ${batch_leads}`;
    const { rows } = await searches.use(accountId, () => batch.execute(app.db.query));
    if (rows.some(({ is_used }) => is_used)) return true;
    if (rows.length < batch_leads) return false;
    last = rows.at(-1);
  }
}

/** Archives the entry after the leads that are being written; later ones cannot use it. */
async function archive(app: App, actor: Actor, entry: Entry) {
  const { account_id } = actor;
  const archived = await searches.use(account_id, () =>
    app.db.query.transaction().execute(async (tx) => {
      await lockUnfrozen(tx, account_id);
      await lockWorkspace(tx, account_id, entry.workspace_id, "leads");
      const { archived_at } = await entry.find(tx);
      if (archived_at) return { archived_at, was_archived: true };
      const now = app.clock.now();
      await sql`
        update ${sql.table(tables[entry.kind])} set archived_at = ${now}, updated_at = ${now}
        where account_id = ${account_id} and id = ${entry.id}`.execute(tx);
      await recordChange(tx, actor, entry, "updated", now);
      return { archived_at: now, was_archived: false };
    }),
  );
  app.notifications.send("workspace", workspaceSubject(account_id, entry.workspace_id));
  return archived;
}

/** Restores the entry unless it was deleted, or archived or restored by someone else. */
async function restore(app: App, actor: Actor, entry: Entry, archived_at: Date): Promise<void> {
  const { account_id } = actor;
  await app.db.query.transaction().execute(async (tx) => {
    await lockWorkspace(tx, account_id, entry.workspace_id, "changes");
    const now = app.clock.now();
    const { rows } = await sql`
      update ${sql.table(tables[entry.kind])} set archived_at = null, updated_at = ${now}
      where account_id = ${account_id} and id = ${entry.id} and archived_at = ${archived_at}
      returning id`.execute(tx);
    if (rows.length > 0) await recordChange(tx, actor, entry, "updated", now);
  });
  app.notifications.send("workspace", workspaceSubject(account_id, entry.workspace_id));
}

/** Deletes an entry that has been archived since `archived_at`, or that an index shows to be unused (null). */
async function remove(
  tx: Tx,
  app: App,
  actor: Actor,
  entry: Entry,
  archived_at: Date | null,
): Promise<void> {
  const { account_id } = actor;
  await lockUnfrozen(tx, account_id);
  await lockWorkspace(tx, account_id, entry.workspace_id, "leads");
  const found = await entry.find(tx);
  if (archived_at === null) {
    const { rows } = await sql`
      select l.id from leads l
      where l.account_id = ${account_id} and l.workspace_id = ${entry.workspace_id} and ${found.usedBy}
      limit 1`.execute(tx);
    if (rows.length > 0) throw inUse(entry);
  } else if (found.archived_at?.getTime() !== archived_at.getTime()) {
    throw new Refusal(
      "conflict",
      `The ${words[entry.kind]} was archived or restored meanwhile; delete it again`,
    );
  }
  await sql`
    delete from ${sql.table(tables[entry.kind])}
    where account_id = ${account_id} and id = ${entry.id}`.execute(tx);
  await recordChange(tx, actor, entry, "deleted", app.clock.now());
}

async function recordChange(
  tx: Tx,
  actor: Actor,
  { kind, workspace_id, id, detail }: Entry,
  change: "updated" | "deleted",
  at: Date,
): Promise<void> {
  await recordWorkspaceChange(tx, actor, workspace_id, {
    at,
    action: actions[kind][change],
    subject_id: id,
    detail: change === "updated" ? { ...detail, changed: ["archived"] } : detail,
  });
}
