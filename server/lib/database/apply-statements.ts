// Applies a migration statement by statement. Each step is recorded, so that a killed run resumes after it.
import { batchTable, runBackfill } from "./backfill.ts";
import { MigrationError } from "./migration-error.ts";
import { checksumOf, splitStatements, type Migration } from "./migration-files.ts";
import {
  inTransaction,
  repeatWhileBlocked,
  runStatement,
  type MigrationRun,
} from "./migration-run.ts";

/** One statement of a migration, as recorded while the migration is incomplete. */
type Step = {
  readonly migration: string;
  readonly statement: number;
  readonly checksum: string;
};
type RecordedStep = Step & { readonly position: string[] | null; readonly done: boolean };

/** Statements that cannot run in a transaction; they wait, but no request queues behind them. */
const concurrent = /^(?:create\s+(?:unique\s+)?index|drop\s+index)\s+concurrently\b/i;
/** Locks its table only against other changes of the schema. */
const validation = /^alter\s+table\s+\S+\s+validate\s+constraint\b/i;
const created_index =
  /^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(\w+)/i;

/** Creates the table of the steps, which holds rows only while a migration is incomplete. */
export const create_steps_table = `create table if not exists migration_steps (
  migration text not null, statement int not null, checksum text not null,
  -- Of a backfill: the primary key of the last row that it visited.
  position text[], done boolean not null, primary key (migration, statement))`;

/**
 * Applies each statement in a transaction of its own that also records it, except those that PostgreSQL refuses
 * in a transaction. Throws MigrationError if an applied statement has changed, or a statement fails.
 */
export async function applyStatements(run: MigrationRun, migration: Migration): Promise<void> {
  const statements = splitStatements(migration.sql);
  const recorded = await readSteps(run, migration);
  for (const [index, sql] of statements.entries()) {
    const statement = index + 1;
    const step: Step = { migration: migration.name, statement, checksum: checksumOf(sql) };
    const before = recorded.get(statement);
    const name = `statement ${statement} of ${statements.length} of migration ${migration.name}`;
    if (before?.done) {
      if (before.checksum === step.checksum) continue;
      throw new MigrationError(`${name} has changed since it was applied; change only later ones`);
    }
    run.report(`running ${name}: ${sql.replaceAll(/\s+/g, " ").slice(0, 120)}`);
    // A changed backfill visits all rows again.
    const position = before?.checksum === step.checksum ? before.position : null;
    await applyStep(run, step, { name, sql, position });
  }
}

/** Deletes the steps of a complete migration in the caller's transaction. */
export async function deleteSteps(run: MigrationRun, migration: Migration): Promise<void> {
  await run.client.query("delete from migration_steps where migration = $1", [migration.name]);
}

async function applyStep(
  run: MigrationRun,
  step: Step,
  { name, sql, position }: { name: string; sql: string; position: string[] | null },
): Promise<void> {
  const table = batchTable(sql);
  try {
    if (concurrent.test(sql)) {
      await runConcurrently(run, name, sql);
      await saveStep(run, step, { position: null, done: true });
    } else if (table !== null) {
      const savePosition = (key: readonly string[]) =>
        saveStep(run, step, { position: key, done: false });
      await runBackfill(run, { name, sql, table, position, savePosition });
      await saveStep(run, step, { position: null, done: true });
    } else {
      const work = async () => {
        await runStatement(run, sql);
        await saveStep(run, step, { position: null, done: true });
      };
      await inTransaction(run, name, work, { patient: validation.test(sql) });
    }
  } catch (error) {
    if (error instanceof MigrationError) throw error;
    throw new MigrationError(`${name} failed: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * The invalid index of a build that failed or was killed slows writes, still refuses duplicates if it
 * is unique, and makes `if not exists` skip the next build. So it is dropped: at once, or before the next build.
 */
async function runConcurrently(run: MigrationRun, name: string, sql: string): Promise<void> {
  const index = created_index.exec(sql)?.[1];
  await run.client.query("set lock_timeout = 0");
  await repeatWhileBlocked(run, name, async () => {
    if (index !== undefined) await dropInvalid(run, index);
    try {
      await run.client.query(sql);
    } catch (error) {
      if (index !== undefined) await dropInvalid(run, index).catch(() => {});
      throw error;
    }
  });
}

async function dropInvalid(run: MigrationRun, index: string): Promise<void> {
  const { rows } = await run.client.query(
    "select from pg_index where indexrelid = to_regclass($1) and not indisvalid",
    [index],
  );
  if (rows.length === 0) return;
  run.report(`dropping index ${index}, whose build did not end`);
  await run.client.query(`drop index concurrently if exists ${index}`);
}

async function readSteps(
  run: MigrationRun,
  { name }: Migration,
): Promise<Map<number, RecordedStep>> {
  const { rows } = await run.client.query<RecordedStep>(
    "select migration, statement, checksum, position, done from migration_steps where migration = $1",
    [name],
  );
  return new Map(rows.map((row) => [row.statement, row]));
}

async function saveStep(
  run: MigrationRun,
  { migration, statement, checksum }: Step,
  { position, done }: { position: readonly string[] | null; done: boolean },
): Promise<void> {
  await run.client.query(
    `insert into migration_steps (migration, statement, checksum, position, done)
     values ($1, $2, $3, $4, $5)
     on conflict (migration, statement) do update set
       checksum = excluded.checksum, position = excluded.position, done = excluded.done`,
    [migration, statement, checksum, position, done],
  );
}
