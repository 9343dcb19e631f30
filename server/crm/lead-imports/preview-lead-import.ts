// Inspects a CSV of leads and reports what an import of it would reject. Nothing is stored.
import type { App } from "../../engine/app.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import type { CsvRow } from "../../lib/csv/read-csv.ts";
import { openLineThread } from "../../lib/csv/open-line-thread.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { openFindOption } from "../leads/read-cell.ts";
import type { WorkspaceSchema } from "../workspaces/workspace-schema.ts";
import { locateColumns, readColumnMap } from "./internal/column-map.ts";
import { findAgents } from "./internal/find-agents.ts";
import { guessColumnMap } from "./internal/guess-column-map.ts";
import { validateRow, type RowContext } from "./internal/validate-row.ts";
import { checked_rows_max, type LeadImportPreview } from "./lead-import-schema.ts";

const rows_thread = new URL("./internal/rows-thread.ts", import.meta.url);
/** Of the whole file: the thread reads all of it once, to find its encoding. */
const rows_max = 1_000_000;
const seconds_max = 60;
const sample_rows = 5;
const listed_rejects_max = 20;
const listed_reasons_max = 100;
/** A cell may have a million characters. */
const cell_characters_max = 200;

type Owner = { readonly id: number; readonly country_code: string };
type File = { readonly fd: number | null; readonly column_map: string | undefined };
type Check = NonNullable<LeadImportPreview["check"]>;

/**
 * Returns the header, the first rows and a guessed column map; with a column map, also what it rejects of the first
 * `checked_rows_max` rows. Throws validation-failed for what startLeadImport refuses.
 */
export async function previewLeadImport(
  app: App,
  account: Owner,
  schema: WorkspaceSchema,
  { fd, column_map }: File,
): Promise<LeadImportPreview> {
  const given = column_map === undefined ? null : readColumnMap(column_map, schema);
  const violations = given?.violations ?? [];
  if (fd === null) violations.unshift({ field: "file", reason: "is required" });
  if (fd === null || violations.length > 0) throw invalid(violations);
  return csvParsing.use(account.id, async () => {
    const thread = await openLineThread<null, null>(rows_thread, { fd, rows_max }, seconds_max);
    try {
      const { header } = thread;
      const located = given && locateColumns(given.map, header);
      if (located && located.violations.length > 0) throw invalid(located.violations);
      const check =
        located && openCheck(app, account, schema, { header, columns: located.columns });
      const { sample, complete } = await readRows(thread.lines(null), check?.add);
      if (sample.length === 0)
        throw invalid([{ field: "file", reason: "has no rows below its header" }]);
      return {
        header,
        rows: sample.map(shownRow),
        columnMap: given?.map ?? guessColumnMap(header, sample, schema, account.country_code),
        check: check ? check.result(complete) : null,
      };
    } finally {
      await thread.close();
    }
  });
}

/** Reads the rows that are checked, or only the sample. */
async function readRows(
  lines: AsyncIterable<Uint8Array>,
  check: ((rows: readonly CsvRow[]) => Promise<void>) | undefined,
): Promise<{ sample: CsvRow[]; complete: boolean }> {
  const decoder = new TextDecoder();
  const sample: CsvRow[] = [];
  let left = check ? checked_rows_max : sample_rows;
  for await (const chunk of lines) {
    const texts = decoder.decode(chunk).trimEnd().split("\n");
    const rows = texts.slice(0, left).map((text) => JSON.parse(text) as CsvRow);
    sample.push(...rows.slice(0, sample_rows - sample.length));
    await check?.(rows);
    left -= rows.length;
    if (left === 0 && texts.length > rows.length) return { sample, complete: false };
    if (left === 0 && !check) return { sample, complete: false };
  }
  return { sample, complete: true };
}

/** Counts rows and their violations, by the rules of an import. */
function openCheck(
  app: App,
  account: Owner,
  schema: WorkspaceSchema,
  {
    header,
    columns,
  }: { readonly header: readonly string[]; readonly columns: RowContext["columns"] },
) {
  const reasons = new Map<string, FieldError & { count: number }>();
  const rejects: Check["rejects"] = [];
  const counts = { checkedCount: 0, rejectedCount: 0 };
  const findOption = openFindOption(schema);
  const { country_code } = account;
  return {
    async add(rows: readonly CsvRow[]): Promise<void> {
      const agents = await findAgents(app.db.query, account.id, columns, rows);
      const findAgent = (text: string) => agents.get(text);
      const width = header.length;
      const context = { schema, country_code, width, columns, findOption, findAgent };
      for (const row of rows) {
        counts.checkedCount++;
        const validated = validateRow(context, row.cells);
        if (!("errors" in validated)) continue;
        const { errors } = validated;
        counts.rejectedCount++;
        countReasons(reasons, errors);
        if (rejects.length < listed_rejects_max) rejects.push({ ...shownRow(row), errors });
      }
    },
    result: (complete: boolean): Check => ({
      ...counts,
      complete,
      reasons: [...reasons.values()].toSorted((a, b) => b.count - a.count),
      rejects,
    }),
  };
}

function countReasons(
  reasons: Map<string, FieldError & { count: number }>,
  errors: readonly FieldError[],
): void {
  for (const { field, reason } of errors) {
    const key = `${field} ${reason}`;
    const known = reasons.get(key);
    if (known) known.count++;
    else if (reasons.size < listed_reasons_max) reasons.set(key, { field, reason, count: 1 });
  }
}

function shownRow({ row_number, cells }: CsvRow) {
  return { row: row_number, cells: cells.map((cell) => cell.slice(0, cell_characters_max)) };
}
