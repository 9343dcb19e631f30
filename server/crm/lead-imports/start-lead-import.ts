// Accepts an uploaded CSV: stores all rows with the import in one transaction, so an invalid file stores
// nothing. run-lead-imports.ts creates the leads afterwards.
import { fstatSync } from "node:fs";
import { lockAndValidateStorage, validateStorage } from "../../accounts/accounts/storage.ts";
import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import type pg from "pg";
import type { App } from "../../engine/app.ts";
import { copyCsvRows } from "../../lib/csv/copy-csv-rows.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid } from "../../lib/errors.ts";
import { unstorable } from "../../lib/json-body.ts";
import { locateColumns, readColumnMap, type ColumnMap } from "./internal/column-map.ts";
import { leadImportAnswerOf, type LeadImportResponse } from "./lead-import-schema.ts";
import type { WorkspaceSchema } from "../workspaces/workspace-schema.ts";

const rows_max = 1_000_000;
const seconds_max = 600;
const copy_sql = `copy lead_import_rows (account_id, import_id, row_number, cells) from stdin`;

/** A completely received upload: an open file and the text of the `columnMap` part. */
export type LeadUpload = {
  readonly fd: number | null;
  readonly file_name: string;
  readonly column_map: string | undefined;
};

/** Runs a write in one transaction with its connection; repeated under one idempotency key, it runs once. */
type WriteFromFile = <Answer>(
  statement_seconds: number,
  effect: (tx: Tx, client: pg.PoolClient) => Promise<Answer>,
) => Promise<Answer>;

/**
 * Creates an import in state processing. Throws validation-failed for a missing or unreadable file, for
 * a column map that does not fit the workspace or the file, for too many rows, and for a file that does not fit
 * into the account's storage quota.
 */
export async function startLeadImport(
  app: App,
  actor: UserActor,
  schema: WorkspaceSchema,
  upload: LeadUpload,
  write: WriteFromFile,
): Promise<LeadImportResponse> {
  const { map, violations } = readColumnMap(upload.column_map, schema);
  if (upload.fd === null) violations.unshift({ field: "file", reason: "is required" });
  if (upload.fd === null || violations.length > 0) throw invalid(violations);
  const { fd } = upload;
  const { size } = fstatSync(fd);
  const full = await validateStorage(app.db.pool, actor.account_id, "file", size);
  if (full.length > 0) throw invalid(full);
  const started = await csvParsing.use(actor.account_id, () =>
    write(seconds_max, async (tx, client) => {
      let import_id = 0;
      const { account_id } = actor;
      const file = { fd, copy_sql, rows_max, seconds_max };
      const total = await copyCsvRows(client, file, async (header) => {
        const located = locateColumns(map, header);
        if (located.violations.length > 0) throw invalid(located.violations);
        import_id = await insertImport(app, tx, actor, { schema, map, header, upload });
        return [account_id, import_id];
      });
      // Other uploads were stored since the first check. Locked after the rows, which take minutes, and until the commit.
      const exceeded = await lockAndValidateStorage(tx, account_id, "file", size);
      if (exceeded.length > 0) throw invalid(exceeded);
      const row = await tx
        .updateTable("lead_imports")
        .set({ total_rows: total, file_bytes: size })
        .where("account_id", "=", account_id)
        .where("id", "=", import_id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return leadImportAnswerOf(row);
    }),
  );
  app.notifications.send("lead_import", `${actor.account_id}:${started.id}`);
  return started;
}

async function insertImport(
  app: App,
  tx: Tx,
  actor: UserActor,
  file: { schema: WorkspaceSchema; map: ColumnMap; header: string[]; upload: LeadUpload },
): Promise<number> {
  const now = app.clock.now();
  const { id } = await tx
    .insertInto("lead_imports")
    .values({
      account_id: actor.account_id,
      workspace_id: file.schema.workspace_id,
      created_by: actor.user_id,
      file_name: unstorable(file.upload.file_name) ? "" : file.upload.file_name.slice(0, 255),
      column_map: JSON.stringify(file.map),
      header: file.header,
      state: "processing",
      total_rows: 0,
      created_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await recordAudit(tx, actor, { at: now, action: "leads.imported", subject_id: id });
  return id;
}
