// Refuses migrations that would stop requests for longer than a lock timeout, or break processes of the previous version.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import {
  loadModule,
  parseSync,
  type CreateStmt,
  type DropStmt,
  type IndexStmt,
  type Node,
  type RawStmt,
} from "libpg-query";
import { batchTable } from "../../server/lib/database/backfill.ts";
import {
  contractsSince,
  isPerStatement,
  splitStatements,
} from "../../server/lib/database/migration-files.ts";
import { alterationProblem, columnsOf, textOf } from "./table-alterations.ts";

/** Earlier migrations stay as they are: they may have run already. */
const first_checked = "0070";
/** From here on, what breaks the previous version needs a marker. */
const first_contract_checked = "0076";

const contract_advice =
  "do it one release after the version that ended the use, with `-- contract since <number>: <reason>` above; " +
  "the number is that version's newest migration";

export type Problem = {
  readonly text: string;
  /** It breaks processes of the previous version; a marker allows it. */
  readonly contract?: true;
};

/** The migration, and what its statements before the current one did. */
export type MigrationState = {
  /** The SQL functions that have a file. */
  readonly functions: ReadonlySet<string>;
  readonly per_statement: boolean;
  /** Tables that the migration creates: nobody uses them yet. */
  readonly created: Set<string>;
  /** Existing tables whose lock the migration takes. */
  readonly locked: Set<string>;
  /** Columns that the migration adds to existing tables, as `table.column`, and whether they have a default. */
  readonly added: Map<string, { has_default: boolean }>;
  /** Constraints that it adds to existing tables, as `table.constraint`. */
  readonly constraints: Set<string>;
  /** Checks that a column is not null, by constraint: `table.column`. */
  readonly null_checks: Map<string, string>;
  /** The columns, as `table.column`, whose check has been validated. */
  readonly checked_columns: Set<string>;
};

await loadModule();

/** Checks the migrations from number 0070 on; returns `file:line: problem` for each violation. */
export function checkMigrations(root: string, files: readonly string[]): string[] {
  const numbers = new Set(files.map((file) => numberOf(file)));
  const functions = new Set(
    readdirSync(join(root, "migrations/functions")).map((file) => basename(file, ".sql")),
  );
  return files
    .filter((file) => basename(file) >= first_checked)
    .flatMap((file) => {
      const sql = readFileSync(join(root, file), "utf8");
      const number = numberOf(file);
      return [
        ...checkMigration(sql, { contracts: number >= first_contract_checked, functions }),
        ...markerProblems(sql, number, numbers),
      ].map((problem) => `${file}:${problem}`);
    });
}

const numberOf = (file: string) => basename(file).slice(0, 4);

/** A marker names an earlier migration: one of the same release would not have ended the use yet. */
function markerProblems(sql: string, number: string, numbers: ReadonlySet<string>): string[] {
  return sql.split("\n").flatMap((text, i) =>
    contractsSince(text)
      .filter((since) => since >= number || !numbers.has(since))
      .map((since) => `${i + 1}: ${since} is not the number of an earlier migration`),
  );
}

/** Checks one migration; returns `line: problem` for each violation. */
export function checkMigration(
  sql: string,
  { contracts = true, functions = new Set<string>() } = {},
): string[] {
  const state: MigrationState = {
    functions,
    per_statement: isPerStatement(sql),
    created: new Set(),
    locked: new Set(),
    added: new Map(),
    constraints: new Set(),
    null_checks: new Map(),
    checked_columns: new Set(),
  };
  const bytes = Buffer.from(sql);
  const statements = parseSync(sql).stmts ?? [];
  let from = 0;
  const problems = statements.flatMap((raw) => {
    const { text, line, end } = locate(bytes, from, raw);
    from = end;
    const problem = statementProblem(raw.stmt!, text, state);
    if (problem === null) return [];
    if (!problem.contract) return [`${line}: ${problem.text}`];
    if (!contracts || contractsSince(text).length > 0) return [];
    return [`${line}: ${problem.text}: ${contract_advice}`];
  });
  if (state.per_statement && splitStatements(sql).length !== statements.length) {
    problems.push("1: cannot be split into statements; write strings without backslash escapes");
  }
  return problems;
}

/** The text of a statement with the comments above it, its line, and where it ends. */
function locate(bytes: Buffer, from: number, { stmt_location = 0, stmt_len }: RawStmt) {
  const end = stmt_len === undefined ? bytes.length : stmt_location + stmt_len;
  const text = bytes.subarray(from, end).toString();
  const above = /^(?:[\s;]|--[^\n]*\n?)*/.exec(text)![0];
  const line = (bytes.subarray(0, from).toString() + above).split("\n").length;
  return { text, line, end };
}

function statementProblem(statement: Node, text: string, state: MigrationState): Problem | null {
  if (batchTable(text) !== null && !state.per_statement)
    return { text: "batch_of needs `-- transaction: per statement` as the first line" };
  if ("CommentStmt" in statement || "CreateSeqStmt" in statement) return null;
  if ("CreateStmt" in statement) return creationProblem(statement.CreateStmt, state);
  if ("IndexStmt" in statement) return indexProblem(statement.IndexStmt, state);
  if ("AlterTableStmt" in statement) return alterationProblem(statement.AlterTableStmt, state);
  if ("DropStmt" in statement) return dropProblem(statement.DropStmt, state);
  if ("RenameStmt" in statement)
    return { text: "processes of the previous version use the old name", contract: true };
  return changeProblem(statement, text, state);
}

/** Where Citus distributes tables, `migrate` distributes a new one after the statement that creates it. */
function creationProblem(table: CreateStmt, state: MigrationState): Problem | null {
  state.created.add(table.relation!.relname!);
  return referencesIn(table.tableElts)
    ? {
        text: "add a reference by `alter table … add constraint`: Citus refuses one of a new table",
      }
    : null;
}

function referencesIn(part: unknown): boolean {
  if (typeof part !== "object" || part === null) return false;
  if ((part as { contype?: unknown }).contype === "CONSTR_FOREIGN") return true;
  return Object.values(part).some(referencesIn);
}

function indexProblem(index: IndexStmt, state: MigrationState): Problem | null {
  if (index.idxname === undefined) return { text: "an index needs a name" };
  const table = index.relation!.relname!;
  if (state.created.has(table)) return null;
  if (!index.concurrent || !index.if_not_exists || !state.per_statement)
    return {
      text: "an index on an existing table blocks writes: use `create index concurrently if not exists` in a migration per statement",
    };
  // Nulls are distinct, and the previous version does not set a new column.
  const isNull = (column: string) => state.added.get(`${table}.${column}`)?.has_default === false;
  if (!index.unique || columnsOf(index.indexParams).some(isNull)) return null;
  return {
    text: "a unique index refuses rows that the previous version writes",
    contract: true,
  };
}

function dropProblem(drop: DropStmt, state: MigrationState): Problem | null {
  if (drop.removeType === "OBJECT_INDEX") {
    if (!drop.concurrent || !drop.missing_ok || !state.per_statement)
      return { text: "use `drop index concurrently if exists` in a migration per statement" };
    return {
      text: "statements of the previous version may need the index, for their speed or for `on conflict`",
      contract: true,
    };
  }
  const redefined = droppedFunctions(drop).find((name) => state.functions.has(name));
  if (redefined !== undefined)
    return {
      text: `processes of the previous version call ${redefined} as it was: give the changed function a new name, and drop the old one a release later`,
    };
  return { text: "processes of the previous version may use it", contract: true };
}

function droppedFunctions({ removeType, objects = [] }: DropStmt): string[] {
  if (removeType !== "OBJECT_FUNCTION") return [];
  return objects.flatMap((object) =>
    "ObjectWithArgs" in object ? (textOf(object.ObjectWithArgs.objname?.at(-1)) ?? []) : [],
  );
}

/** Rows of an existing table are changed, and copied, in batches. */
function changeProblem(statement: Node, text: string, state: MigrationState): Problem | null {
  const changed =
    "UpdateStmt" in statement
      ? statement.UpdateStmt.relation
      : "DeleteStmt" in statement
        ? statement.DeleteStmt.relation
        : undefined;
  if (changed) {
    if (state.created.has(changed.relname!) || batchTable(text) !== null) return null;
    return {
      text: `changes all rows of ${changed.relname} in one transaction: add \`batch_of(${changed.relname})\` to its conditions`,
    };
  }
  if ("InsertStmt" in statement) {
    const source = statement.InsertStmt.selectStmt;
    const copies = source && "SelectStmt" in source && source.SelectStmt.fromClause !== undefined;
    return copies && batchTable(text) === null
      ? { text: "copies all rows in one transaction: add `batch_of(<table>)` to its conditions" }
      : null;
  }
  return {
    text: `${Object.keys(statement)[0]} is not a statement that this check knows to be safe; teach it here (scripts/check/migrations.ts)`,
  };
}
