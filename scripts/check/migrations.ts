// Refuses migrations that would stop requests for longer than a lock timeout, or break processes of the last version.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { loadModule, parseSync, type Node, type RawStmt } from "libpg-query";
import { batchTable } from "../../server/lib/database/backfill.ts";
import { isPerStatement, splitStatements } from "../../server/lib/database/migration-files.ts";
import { alterationProblem } from "./table-alterations.ts";

/** Earlier migrations stay as they are: they may have run already. */
const first_checked = "0070";
/** Above a statement that takes something away which the last version still knew: why no running process uses it. */
const contract_marker = /--\s*contract:\s*\S/;

/** What the statements of a migration before the current one did. */
export type MigrationState = {
  readonly per_statement: boolean;
  /** Tables that the migration creates: nobody uses them yet. */
  readonly created: Set<string>;
  /** Existing tables whose lock the migration takes. */
  readonly locked: Set<string>;
  /** Checks that a column is not null, by constraint: `table.column`. */
  readonly null_checks: Map<string, string>;
  /** The columns, as `table.column`, whose check has been validated. */
  readonly checked_columns: Set<string>;
};

await loadModule();

/** Checks the migrations from number 0070 on; returns `file:line: problem` for each violation. */
export function checkMigrations(root: string, files: readonly string[]): string[] {
  return files
    .filter((file) => basename(file) >= first_checked)
    .flatMap((file) =>
      checkMigration(readFileSync(join(root, file), "utf8")).map((problem) => `${file}:${problem}`),
    );
}

/** Checks one migration; returns `line: problem` for each violation. */
export function checkMigration(sql: string): string[] {
  const state: MigrationState = {
    per_statement: isPerStatement(sql),
    created: new Set(),
    locked: new Set(),
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
    return problem === null ? [] : [`${line}: ${problem}`];
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

function statementProblem(statement: Node, text: string, state: MigrationState): string | null {
  if (batchTable(text) !== null && !state.per_statement)
    return "batch_of needs `-- transaction: per statement` as the first line";
  if ("CommentStmt" in statement || "CreateSeqStmt" in statement) return null;
  if ("CreateStmt" in statement) {
    state.created.add(statement.CreateStmt.relation!.relname!);
    return null;
  }
  if ("IndexStmt" in statement) return indexProblem(statement.IndexStmt, state);
  if ("AlterTableStmt" in statement) {
    const problem = alterationProblem(statement.AlterTableStmt, state);
    return problem?.contract && contract_marker.test(text) ? null : (problem?.text ?? null);
  }
  if ("DropStmt" in statement && statement.DropStmt.removeType === "OBJECT_INDEX")
    return dropIndexProblem(statement.DropStmt, state);
  if ("DropStmt" in statement || "RenameStmt" in statement)
    return contract_marker.test(text)
      ? null
      : "processes of the last version may use it: say why not in a comment `-- contract: ...` above";
  return changeProblem(statement, text, state);
}

function indexProblem(
  index: Extract<Node, { IndexStmt: unknown }>["IndexStmt"],
  state: MigrationState,
): string | null {
  if (index.idxname === undefined) return "an index needs a name";
  if (state.created.has(index.relation!.relname!)) return null;
  const online = index.concurrent && index.if_not_exists && state.per_statement;
  return online
    ? null
    : "an index on an existing table blocks writes: use `create index concurrently if not exists` in a migration per statement";
}

function dropIndexProblem(
  drop: Extract<Node, { DropStmt: unknown }>["DropStmt"],
  state: MigrationState,
): string | null {
  return drop.concurrent && drop.missing_ok && state.per_statement
    ? null
    : "use `drop index concurrently if exists` in a migration per statement";
}

/** Rows of an existing table are changed, and copied, in batches. */
function changeProblem(statement: Node, text: string, state: MigrationState): string | null {
  const changed =
    "UpdateStmt" in statement
      ? statement.UpdateStmt.relation
      : "DeleteStmt" in statement
        ? statement.DeleteStmt.relation
        : undefined;
  if (changed) {
    return state.created.has(changed.relname!) || batchTable(text) !== null
      ? null
      : `changes all rows of ${changed.relname} in one transaction: add \`batch_of(${changed.relname})\` to its conditions`;
  }
  if ("InsertStmt" in statement) {
    const source = statement.InsertStmt.selectStmt;
    const copies = source && "SelectStmt" in source && source.SelectStmt.fromClause !== undefined;
    return copies && batchTable(text) === null
      ? "copies all rows in one transaction: add `batch_of(<table>)` to its conditions"
      : null;
  }
  return `${Object.keys(statement)[0]} is not a statement that this check knows to be safe; teach it here (scripts/check/migrations.ts)`;
}
