// Checks docs/contract.md against the results of the tests.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { recordFile, type TestRecord } from "../../test/support/reporters/test-record.ts";

type Row = { readonly line: number; readonly id: string; readonly test: string };

/**
 * Reads the tables `clause id | clause | test` (or `risk id | measure | test`) of `page` and returns, as `file:line: violation`, each row that names
 * no test, or one that does not exist, did not run, or did not pass in its last run. A test cell contains
 * `` `path.test.ts` › suite › test `` (suites are optional), several separated by `<br>`, or `later: module` for a
 * clause whose module does not exist yet.
 */
export function checkContract(
  root: string,
  page: string,
): { readonly proved: number; readonly later: number; readonly violations: readonly string[] } {
  const rows = readRows(readFileSync(join(root, page), "utf8"));
  const violations = rows.length === 0 ? [`${page}: has no row with a clause and its test`] : [];
  const ids = new Set<string>();
  let later = 0;
  for (const row of rows) {
    const wrong = ids.has(row.id) ? ["another row has this id"] : [];
    ids.add(row.id);
    if (isLater(row.test)) later += 1;
    else wrong.push(...row.test.split(/<br\s*\/?>/).flatMap((cell) => validate(root, cell.trim())));
    violations.push(...wrong.map((violation) => `${page}:${row.line}: ${row.id}: ${violation}`));
  }
  return { proved: rows.length - later, later, violations };
}

function isLater(cell: string): boolean {
  return /^later: [a-z]/.test(cell);
}

/** Returns the violations of one test reference; none if every matching test has passed. */
function validate(root: string, reference: string): string[] {
  const match = /^`(?<file>[^`]+\.test\.ts)` › (?<name>.+)$/.exec(reference);
  const file = match?.groups?.["file"];
  const name = match?.groups?.["name"];
  if (file === undefined || name === undefined) {
    return [`"${reference}" is neither \`file.test.ts\` › test nor later: module`];
  }
  if (!existsSync(join(root, file))) return [`${file} does not exist`];
  if (!existsSync(recordFile(root, file))) return [`${file} did not run`];
  const found = readRecords(root, file).filter(
    (record) => record.name === name || record.name.endsWith(` › ${name}`),
  );
  if (found.length === 0) return [`${file} ran no test "${name}"`];
  return found
    .filter((record) => record.outcome !== "passed")
    .map((record) => `"${record.name}" of ${file} ${record.outcome}`);
}

function readRecords(root: string, file: string): TestRecord[] {
  return readFileSync(recordFile(root, file), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as TestRecord);
}

/** Returns the rows of every table whose header names the columns `… id` and `test`. */
function readRows(text: string): Row[] {
  const rows: Row[] = [];
  let header: string[] | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    const cells = line.trimStart().startsWith("|") ? readCells(line) : null;
    if (cells === null) header = null;
    else if (header === null) header = cells.map((cell) => cell.toLowerCase());
    else if (!cells.every((cell) => /^:?-+:?$/.test(cell))) {
      const [id, test] = [header.findIndex((cell) => cell.endsWith(" id")), header.indexOf("test")];
      if (id < 0 || test < 0) continue;
      rows.push({ line: index + 1, id: cells[id] ?? "", test: cells[test] ?? "" });
    }
  }
  return rows;
}

function readCells(line: string): string[] {
  return line
    .trim()
    .replaceAll(/^\||(?<!\\)\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll(/\\([|_*<>[\]\\])/g, "$1"));
}
