// Checks the statements that the tests have made the server issue, as test/support/record-statements.ts records them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "libpg-query";
import { readRecordedRuns, type Recorded } from "../lib/recorded-runs.ts";
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

/** Checks every recorded statement; returns how many there are, and `file: problem` for each violation. */
export function checkStatements(root: string, serverFiles: readonly string[]) {
  const texts = new Map(serverFiles.map((file) => [file, readFileSync(join(root, file), "utf8")]));
  const recorded = readRecorded(root, texts);
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
function statementViolations(
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

/** Reads the statements of all test files, each once. Omits those that no file of the server has issued. */
function readRecorded(root: string, texts: ReadonlyMap<string, string>): Recorded[] {
  const sources = new Map<string, string>();
  for (const { statements } of readRecordedRuns(root).values()) {
    for (const { text, source } of statements)
      if (texts.has(source) || !sources.has(text)) sources.set(text, source);
  }
  return [...sources].flatMap(([text, source]) => {
    const known = sourceOf(text, texts) ?? (texts.has(source) ? source : undefined);
    return known === undefined ? [] : [{ source: known, text }];
  });
}

/**
 * The file that contains the statement's longest line, and most of the others; undefined if it is generated. A stack
 * shows only who has run it.
 */
function sourceOf(text: string, texts: ReadonlyMap<string, string>): string | undefined {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .toSorted((one, other) => other.length - one.length);
  if (lines[0]!.length < 20) return undefined;
  const found = [...texts].filter(([, code]) => code.includes(lines[0]!));
  const linesIn = (code: string) => lines.filter((line) => code.includes(line)).length;
  return found.toSorted(([, one], [, other]) => linesIn(other) - linesIn(one))[0]?.[0];
}
