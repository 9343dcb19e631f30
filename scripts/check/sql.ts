// Refuses statements that Citus plans differently from PostgreSQL, or not at all. docs/decisions has the rules.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { loadModule } from "libpg-query";
import { accountProblems, type Problem } from "./sql/account-rules.ts";
import { function_exceptions, type Exception } from "./sql/exceptions.ts";
import { readLevels, tableKindsOf, type TableKinds } from "./sql/levels.ts";
import { fieldsOf, isFields, listOf } from "./sql/parse-tree.ts";
import { readFunction, type ReadFunction } from "./sql/read-function.ts";
import { statementProblems, type Volatilities } from "./sql/statement-rules.ts";

/** A violation, and the function or file where it is, with the line of the function or the text of the statement. */
export type Violation = Problem & {
  readonly in: string;
  readonly line?: number;
  readonly statement?: string;
};

await loadModule();

/** Checks the SQL functions in `files`; returns how many statements they have, and `file:line: problem` for each. */
export function checkFunctions(root: string, files: readonly string[]) {
  const kinds = readTableKinds(root);
  const functions = files.map((file) => readFunction(readFileSync(join(root, file), "utf8")));
  const volatilities = volatilitiesOf(functions);
  const found = functions.flatMap((fn) => functionViolations(fn, kinds, volatilities));
  const checked = new Set(files.map((file) => basename(file, ".sql")));
  const violations = withoutExceptions(found, function_exceptions, checked).map(
    (text) => `migrations/functions/${text}`,
  );
  const statements = functions.reduce((sum, fn) => sum + fn.statements.length, 0);
  return { statements, violations };
}

/** Reads migrations/tables.json. */
export function readTableKinds(root: string): TableKinds {
  return JSON.parse(readFileSync(join(root, "migrations/tables.json"), "utf8")) as TableKinds;
}

/** Reads the volatility of each SQL function. */
export function readVolatilities(root: string): Volatilities {
  const folder = join(root, "migrations/functions");
  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
  return volatilitiesOf(files.map(readFunction));
}

function volatilitiesOf(functions: readonly ReadFunction[]): Volatilities {
  return new Map(functions.map(({ name, volatility }) => [name, volatility]));
}

/** Returns the violations of one function, without regard to exceptions. */
export function functionViolations(
  fn: ReadFunction,
  kinds: TableKinds,
  volatilities: Volatilities,
): Violation[] {
  const isVariable = (name: string) => fn.variables.has(name);
  return fn.statements.flatMap(({ node, line, counted }) => {
    const problems = checkStatement(node, kinds, volatilities, isVariable);
    if (counted && skipsConflicts(node))
      problems.push({
        rule: "count-after-conflict",
        text: "counts the rows of `insert … select … on conflict do nothing`: use VALUES or RETURNING",
      });
    if (fn.language === "sql" && tableKindsOf(readLevels(node, kinds)).has("tenant"))
      problems.push({ rule: "sql-function", text: "runs on tenant tables: write it in plpgsql" });
    return problems.map((problem) => ({ ...problem, in: fn.name, line }));
  });
}

/** Returns the violations of one statement of any place. */
export function checkStatement(
  node: unknown,
  kinds: TableKinds,
  volatilities: Volatilities,
  isVariable: (name: string) => boolean,
): Problem[] {
  const levels = readLevels(node, kinds);
  return [
    ...accountProblems(levels, isVariable),
    ...statementProblems(levels, volatilities, isVariable),
  ];
}

/** Whether it is an insert of selected rows that ignores conflicts. */
export function skipsConflicts(node: unknown): boolean {
  const insert = fieldsOf(node, "InsertStmt");
  const source = fieldsOf(insert?.["selectStmt"], "SelectStmt");
  const conflict = insert?.["onConflictClause"];
  const ignores = isFields(conflict) && conflict["action"] === "ONCONFLICT_NOTHING";
  return ignores && listOf(source, "valuesLists").length === 0;
}

/**
 * Returns the violations that no exception allows, as text, and the exceptions that none needs, if their place is
 * among the checked ones.
 */
export function withoutExceptions(
  found: readonly Violation[],
  exceptions: readonly Exception[],
  checked: ReadonlySet<string>,
): string[] {
  const matches = (violation: Violation, exception: Exception) =>
    violation.rule === exception.rule && violation.in === exception.in;
  const texts = found
    .filter((violation) => !exceptions.some((exception) => matches(violation, exception)))
    .map(({ in: place, line, statement, text, rule }) => {
      const at = line === undefined ? place : `${place}.sql:${line}`;
      return `${at}: ${text} (${rule})${statement === undefined ? "" : `\n    ${shorten(statement)}`}`;
    });
  const unused = exceptions.filter(
    (exception) =>
      checked.has(exception.in) && !found.some((violation) => matches(violation, exception)),
  );
  return [
    ...new Set(texts),
    ...unused.map(
      ({ in: place, rule }) =>
        `${place}: the exception of ${rule} is not needed any more: delete it`,
    ),
  ];
}

function shorten(statement: string): string {
  return statement.replaceAll(/\s+/g, " ").trim().slice(0, 200);
}
