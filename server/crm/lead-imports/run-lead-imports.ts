// Creates leads from uploaded rows in small transactions. Each transaction advances next_row and the counts
// together with its leads, so a crash neither repeats nor loses rows. Any number of workers may run; one at
// a time has an import.
import { sql, type Kysely, type Selectable } from "kysely";
import { lockIfUnfrozen } from "../../accounts/accounts/is-frozen.ts";
import { openAccountPlaces, type AccountPlaces } from "../../engine/account-places.ts";
import type { App } from "../../engine/app.ts";
import { isUnfrozen } from "../../engine/poll-work.ts";
import { statement, type DB, type Tx } from "../../lib/database/database.ts";
import { isDatabaseUnavailable, isOfOneStatement } from "../../lib/database/database-errors.ts";
import type { FieldError } from "../../lib/errors.ts";
import { locateColumns, type ColumnMap } from "./internal/column-map.ts";
import { findAgents } from "./internal/find-agents.ts";
import { validateRow, type RowContext } from "./internal/validate-row.ts";
import { openFindOption } from "../leads/read-cell.ts";
import { writeLeads, type ValidatedRow } from "./internal/write-leads.ts";
import { leadRow } from "../leads/lead-row.ts";
import { readWorkspaceSchema, type WorkspaceSchema } from "../workspaces/workspace-schema.ts";

/** Row numbers per batch; empty rows of the file are not stored. */
const batch_rows = 500;
/** A row may have a million characters, and the memory of a process holds the batches of all its loops. */
const batch_bytes_max = 4_000_000;
/** Row numbers that a failed import drops at once. A million in one statement may take longer than it is given. */
const dropped_rows = 20_000;
const imports_per_iteration_max = 1_000;
/** Imports per account and iteration, so that one account's many uploads do not delay another's. */
const imports_of_account_max = 3;
/** How often a batch is validated again because the workspace changed meanwhile. */
const attempts_max = 5;

type Import = Selectable<DB["lead_imports"]>;
type Row = { row_number: number; cells: string[] };
type Reject = { row_number: number; errors: FieldError[] };

/** When imports are open: see poll-work.ts. */
export const open_imports = [
  `from lead_imports i where i.state = 'processing' and ${isUnfrozen("i")} order by i.account_id`,
];

/**
 * Runs one iteration: a batch of each account's oldest open imports that no other worker has. Returns how
 * many imports it processed. Skips frozen accounts and those that have all their places. A failing import is logged, retried
 * in the next iteration and delays no other.
 */
export async function runLeadImports(
  app: App,
  stopping: AbortSignal,
  places: AccountPlaces = openAccountPlaces(),
): Promise<number> {
  let worked = 0;
  for (const { account_id, id } of await oldestOpen(app.db.query)) {
    if (stopping.aborted) break;
    if (places.isFull(account_id)) continue;
    places.add(account_id, 1);
    try {
      if (await workBatch(app, account_id, id)) worked++;
    } catch (err) {
      if (isDatabaseUnavailable(err) && !isOfOneStatement(err)) throw err;
      app.log.error({ err, account_id, subject_id: id }, "a batch of a lead import failed");
    } finally {
      places.add(account_id, -1);
    }
  }
  return worked;
}

/** Returns open imports of accounts that are not frozen, each account's first before any account's second. */
async function oldestOpen(db: Kysely<DB>) {
  const ranked = db
    .selectFrom("lead_imports as i")
    .select(["i.account_id", "i.id"])
    .select(sql<number>`row_number() over (partition by i.account_id order by i.id)`.as("place"))
    .where("i.state", "=", "processing")
    .where(sql<boolean>`${sql.raw(isUnfrozen("i"))}`);
  return db
    .selectFrom(ranked.as("ranked"))
    .select(["account_id", "id"])
    .where("place", "<=", imports_of_account_max)
    .orderBy("place")
    .orderBy("account_id")
    .limit(imports_per_iteration_max)
    .execute();
}

// A range instead of a limit: until autovacuum has analyzed a million new rows, a limit's plan sorts them all (273 ms a
// batch instead of 0.2). Always the first row, however long it is.
const readBatch = statement<Row>(`
  select row_number, cells from (
    select r.row_number, r.cells,
      sum(octet_length(r.cells::text)) over (order by r.row_number) - octet_length(r.cells::text) as bytes_before
    from lead_import_rows r
    where r.account_id = $1 and r.import_id = $2 and r.row_number >= $3 and r.row_number < $4
  ) measured
  where bytes_before < $5
  order by row_number`);

/**
 * Processes one batch in one transaction; returns false if the import is done, another worker has it, or the account is
 * frozen.
 */
async function workBatch(app: App, accountId: number, importId: number): Promise<boolean> {
  const now = app.clock.now();
  const created_count = await app.db.query.transaction().execute(async (tx) => {
    if (!(await lockIfUnfrozen(tx, accountId))) return null;
    const found = await tx
      .selectFrom("lead_imports")
      .selectAll()
      .where("account_id", "=", accountId)
      .where("id", "=", importId)
      .where("state", "=", "processing")
      .forNoKeyUpdate()
      .skipLocked()
      .executeTakeFirst();
    if (!found) return null;
    if (found.failure !== null) {
      await drop(tx, found, found.failure, now);
      return 0;
    }
    const values = [accountId, importId, found.next_row, found.next_row + batch_rows];
    const rows = await readBatch(tx, [...values, batch_bytes_max]);
    const rejects = await createLeadsOf(tx, found, rows, now);
    if (rejects === "inactive") {
      await drop(tx, found, "The workspace is not active", now);
      return 0;
    }
    await advance(tx, found, rows, rejects, now);
    return rows.length - rejects.length;
  });
  if (created_count === null) return false;
  app.metrics?.leadsCreated.inc(created_count);
  return true;
}

/** Creates the leads of these rows and returns the rejects. */
async function createLeadsOf(
  tx: Tx,
  found: Import,
  rows: readonly Row[],
  now: Date,
): Promise<Reject[] | "inactive"> {
  const { country_code } = await tx
    .selectFrom("accounts")
    .select("country_code")
    .where("account_id", "=", found.account_id)
    .executeTakeFirstOrThrow();
  const { columns } = locateColumns(found.column_map as ColumnMap, found.header);
  const agents = await findAgents(tx, found.account_id, columns, rows);
  const creator = { user_id: found.created_by, country_code };
  for (let attempt = 1; attempt <= attempts_max; attempt++) {
    const schema = await readWorkspaceSchema(tx, found.account_id, found.workspace_id);
    if (!schema) return "inactive";
    const { good, rejects } = validateRows(rows, creator, {
      schema,
      country_code,
      width: found.header.length,
      columns,
      findOption: openFindOption(schema),
      findAgent: (text) => agents.get(text),
    });
    await sql`savepoint batch`.execute(tx);
    const refused = await writeLeads(tx, found.account_id, good, now);
    if (refused !== "stale") {
      for (const [row_number, error] of refused) rejects.push({ row_number, errors: [error] });
      return rejects;
    }
    await sql`rollback to savepoint batch`.execute(tx);
  }
  throw new Error("the workspace's schema kept changing");
}

function validateRows(
  rows: readonly Row[],
  creator: { user_id: number; country_code: string },
  validate: RowContext & { readonly schema: WorkspaceSchema },
): { good: ValidatedRow[]; rejects: Reject[] } {
  const good: ValidatedRow[] = [];
  const rejects: Reject[] = [];
  for (const { row_number, cells } of rows) {
    const validated = validateRow(validate, cells);
    if ("errors" in validated) rejects.push({ row_number, errors: validated.errors });
    else good.push({ row_number, lead: leadRow(validate.schema, creator, validated.lead) });
  }
  return { good, rejects };
}

/** Records the results of the rows, and the end of the import after its last row. */
async function advance(
  tx: Tx,
  found: Import,
  rows: readonly Row[],
  rejects: readonly Reject[],
  now: Date,
): Promise<void> {
  // The batch may end before batch_rows, at its limit of bytes.
  const last = rows.at(-1);
  const next_row = last ? last.row_number + 1 : found.next_row + batch_rows;
  if (rejects.length > 0) {
    await sql`
      insert into lead_import_rejects (account_id, import_id, row_number, cells, errors)
      select r.account_id, r.import_id, r.row_number, r.cells, e.errors
      from lead_import_rows r
      join json_to_recordset(${JSON.stringify(rejects)}::json) as e(row_number int, errors json)
        on e.row_number = r.row_number
      where r.account_id = ${found.account_id} and r.import_id = ${found.id}
        and r.row_number >= ${found.next_row} and r.row_number < ${next_row}`.execute(tx);
  }
  const created_count = found.created_count + rows.length - rejects.length;
  const rejected_count = found.rejected_count + rejects.length;
  const isDone = created_count + rejected_count === found.total_rows;
  await deleteRows(tx, found, next_row);
  await tx
    .updateTable("lead_imports")
    .set({
      next_row,
      created_count,
      rejected_count,
      ...(isDone ? { state: "completed", finished_at: now } : {}),
    })
    .where("account_id", "=", found.account_id)
    .where("id", "=", found.id)
    .execute();
}

/**
 * Ends the import early: created leads stay, the remaining rows are dropped, a range in each transaction. Only the last
 * sets the state, so that the import stays open until its rows are dropped; `failure` keeps it from being continued.
 */
async function drop(tx: Tx, found: Import, failure: string, now: Date): Promise<void> {
  const next_row = found.next_row + dropped_rows;
  await deleteRows(tx, found, next_row);
  const left = await tx
    .selectFrom("lead_import_rows")
    .select("row_number")
    .where("account_id", "=", found.account_id)
    .where("import_id", "=", found.id)
    .where("row_number", ">=", next_row)
    .limit(1)
    .executeTakeFirst();
  await tx
    .updateTable("lead_imports")
    .set({ next_row, failure, ...(left ? {} : { state: "failed", finished_at: now }) })
    .where("account_id", "=", found.account_id)
    .where("id", "=", found.id)
    .execute();
}

/** Deletes the rows from the import's next one up to another. */
async function deleteRows(tx: Tx, found: Import, next_row: number): Promise<void> {
  await tx
    .deleteFrom("lead_import_rows")
    .where("account_id", "=", found.account_id)
    .where("import_id", "=", found.id)
    .where("row_number", ">=", found.next_row)
    .where("row_number", "<", next_row)
    .execute();
}
