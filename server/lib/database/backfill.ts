// Runs a statement over a table in batches, and remembers the last row, so that a killed run resumes.
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { MigrationError } from "./migration-error.ts";
import { inTransaction, type MigrationRun } from "./migration-run.ts";

export type Backfill = {
  /** For messages. */
  readonly name: string;
  /** A statement with `batch_of(<table>)` as a condition. */
  readonly sql: string;
  readonly table: string;
  /** The primary key of the last row of the last batch, as texts; null before the first. */
  readonly position: readonly string[] | null;
  /** Stores the position in the transaction of the batch. */
  savePosition(position: readonly string[]): Promise<void>;
};

type KeyColumn = { readonly name: string; readonly type: string };

/** A batch locks its rows about this long, and so does the pause after it, so that others have half of the time. */
const batch_ms = 100;
const rows_min = 100;
const rows_max = 10_000;
const report_ms = 5_000;
const marker = /\bbatch_of\s*\(\s*(\w+)\s*\)/i;

/** Returns the table that a statement goes through in batches, or null if it runs at once. */
export function batchTable(sql: string): string | null {
  return marker.exec(sql)?.[1] ?? null;
}

/**
 * Runs the statement for each batch in the order of the primary key, up to the row that was the last when it
 * began. Rows inserted meanwhile are not visited.
 */
export async function runBackfill(run: MigrationRun, backfill: Backfill): Promise<void> {
  const key = await primaryKey(run.client, backfill.table);
  const last = await lastRow(run.client, backfill.table, key);
  const progress = progressOf(run, backfill);
  if (last === null) return;
  let size = 1_000;
  let position = backfill.position;
  for (;;) {
    const batch = await nextBatch(run.client, backfill.table, key, { position, last, size });
    if (!batch) return;
    const began_ms = performance.now();
    await commitBatch(run, backfill, key, { from: position, to: batch.end });
    const took_ms = performance.now() - began_ms;
    position = batch.end;
    await progress(batch.rows);
    size = Math.round(Math.min(rows_max, Math.max(rows_min, (size * batch_ms) / took_ms)));
    await wait(Math.min(took_ms, batch_ms));
  }
}

type Range = { readonly from: readonly string[] | null; readonly to: readonly string[] };

async function commitBatch(
  run: MigrationRun,
  backfill: Backfill,
  key: readonly KeyColumn[],
  range: Range,
): Promise<void> {
  await inTransaction(run, backfill.name, async () => {
    await runBatch(run.client, backfill, key, range);
    await backfill.savePosition(range.to);
  });
}

async function runBatch(
  client: pg.Client,
  { sql, table }: Backfill,
  key: readonly KeyColumn[],
  { from, to }: Range,
): Promise<void> {
  const values: string[] = [];
  const columns = rowOf(key.map(({ name }) => `${table}.${name}`));
  const conditions = [
    ...(from === null ? [] : [`${columns} > ${parameters(key, from, values)}`]),
    `${columns} <= ${parameters(key, to, values)}`,
  ];
  // The planner estimates rows by the first column alone, and would read the whole table for each batch.
  await client.query("set local enable_seqscan = off");
  await client.query(
    sql.replace(marker, () => `(${conditions.join(" and ")})`),
    values,
  );
}

async function nextBatch(
  client: pg.Client,
  table: string,
  key: readonly KeyColumn[],
  range: { position: readonly string[] | null; last: readonly string[]; size: number },
): Promise<{ end: string[]; rows: number } | undefined> {
  const values: string[] = [];
  const names = key.map(({ name }) => name);
  const after =
    range.position === null
      ? ""
      : `${rowOf(names)} > ${parameters(key, range.position, values)} and `;
  const { rows } = await client.query<{ end: string[]; rows: number }>(
    `select array[${asTexts(names)}] as end, (count(*) over ())::int as rows
     from (select ${names.join(", ")} from ${table}
       where ${after}${rowOf(names)} <= ${parameters(key, range.last, values)}
       order by ${names.join(", ")} limit ${range.size}) batch
     order by ${backwards(names)} limit 1`,
    values,
  );
  return rows[0];
}

async function lastRow(
  client: pg.Client,
  table: string,
  key: readonly KeyColumn[],
): Promise<string[] | null> {
  const names = key.map(({ name }) => name);
  const { rows } = await client.query<{ last: string[] }>(
    `select array[${asTexts(names)}] as last from ${table} order by ${backwards(names)} limit 1`,
  );
  return rows[0]?.last ?? null;
}

async function primaryKey(client: pg.Client, table: string): Promise<KeyColumn[]> {
  const { rows } = await client.query<KeyColumn>(
    `select quote_ident(a.attname) as name, format_type(a.atttypid, a.atttypmod) as type
     from pg_index i cross join unnest(i.indkey) with ordinality k (attnum, position)
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
     where i.indrelid = to_regclass($1) and i.indisprimary order by k.position`,
    [table],
  );
  if (rows.length > 0) return rows;
  throw new MigrationError(`table ${table} needs a primary key to be changed in batches`);
}

/** Reports the rows visited so far, every 5 s. */
function progressOf(run: MigrationRun, { name, table }: Backfill) {
  let visited = 0;
  let reported_ms = performance.now();
  return async (rows: number): Promise<void> => {
    visited += rows;
    if (performance.now() - reported_ms < report_ms) return;
    reported_ms = performance.now();
    const estimate = await run.client.query<{ rows: number }>(
      "select greatest(reltuples, 0)::float8 as rows from pg_class where oid = to_regclass($1)",
      [table],
    );
    run.report(`${name}: ${visited} of about ${estimate.rows[0]?.rows ?? 0} rows of ${table}`);
  };
}

const rowOf = (parts: readonly string[]) => `(${parts.join(", ")})`;
const asTexts = (names: readonly string[]) => names.map((name) => `${name}::text`).join(", ");
const backwards = (names: readonly string[]) => names.map((name) => `${name} desc`).join(", ");

/** Adds a key to the values of a query, and returns the row of its parameters. */
function parameters(key: readonly KeyColumn[], position: readonly string[], values: string[]) {
  return rowOf(key.map(({ type }, column) => `$${values.push(position[column]!)}::text::${type}`));
}
