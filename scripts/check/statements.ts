// Checks the statements that the tests have made the server issue, as test/support/record-statements.ts records them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "libpg-query";
import {
  checkStatement,
  readTableKinds,
  readVolatilities,
  skipsConflicts,
  withoutExceptions,
  type Violation,
} from "./sql.ts";
import { statement_exceptions } from "./sql/exceptions.ts";
import type { TableKinds } from "./sql/levels.ts";
import { fieldsOf } from "./sql/parse-tree.ts";
import type { Volatilities } from "./sql/statement-rules.ts";

export type Recorded = { readonly source: string; readonly text: string };

/** Checks every recorded statement; returns how many there are, and `file: problem` for each violation. */
export function checkStatements(root: string, serverFiles: readonly string[]) {
  const texts = new Map(serverFiles.map((file) => [file, readFileSync(join(root, file), "utf8")]));
  const recorded = readRecorded(join(root, ".cache/statements-ran"), texts);
  const kinds = readTableKinds(root);
  const volatilities = readVolatilities(root);
  const found = recorded.flatMap((one) =>
    statementViolations(one, kinds, volatilities, texts.get(one.source) ?? ""),
  );
  const checked = new Set(recorded.map(({ source }) => source));
  return {
    statements: recorded.length,
    violations: withoutExceptions(found, statement_exceptions, checked),
  };
}

/** Returns the violations of one statement; `code`: the file that issues it. */
export function statementViolations(
  { source, text }: Recorded,
  kinds: TableKinds,
  volatilities: Volatilities,
  code: string,
): Violation[] {
  return (parseSync(text).stmts ?? []).flatMap(({ stmt }) => {
    const problems = checkStatement(stmt, kinds, volatilities, () => false);
    const counts = /\browCount\b|\bnumAffectedRows\b|\bnumInsertedOrUpdatedRows\b/.test(code);
    if (
      counts &&
      skipsConflicts(stmt) &&
      fieldsOf(stmt, "InsertStmt")?.["returningClause"] === undefined
    )
      problems.push({
        rule: "count-after-conflict",
        text: "counts the rows of `insert … select … on conflict`: use VALUES or RETURNING",
      });
    return problems.map((problem) => ({ ...problem, in: source, statement: text }));
  });
}

/** Reads the statements of all test files, each once. Those that no file of the server has issued are left out. */
function readRecorded(folder: string, texts: ReadonlyMap<string, string>): Recorded[] {
  if (!existsSync(folder)) return [];
  const sources = new Map<string, string>();
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".json")) continue;
    const recorded = JSON.parse(readFileSync(join(folder, file), "utf8")) as Recorded[];
    for (const { text, source } of recorded)
      if (texts.has(source) || !sources.has(text)) sources.set(text, source);
  }
  return [...sources].flatMap(([text, source]) => {
    const known = texts.has(source) ? source : sourceOf(text, texts);
    return known === undefined ? [] : [{ source: known, text }];
  });
}

/** The file that contains the longest line of the statement, if any. */
function sourceOf(text: string, texts: ReadonlyMap<string, string>): string | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  const longest = lines.reduce((one, other) => (other.length > one.length ? other : one), "");
  if (longest.length < 20) return undefined;
  return [...texts].find(([, code]) => code.includes(longest))?.[0];
}
