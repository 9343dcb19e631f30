// The thread that parses an uploaded file into recipients. Each channel has its own entry file, which
// validates a row.
import { cellText } from "../../lib/csv/cell-text.ts";
import { runLineThread } from "../../lib/csv/run-line-thread.ts";
import {
  openLineIntake,
  type IntakeCounts,
  type RecipientFormat,
  type Rejected,
  type Rejects,
} from "./open-intake.ts";

/** The terms that every channel has. */
export type FileTerms = {
  /** The prefix for openLineIntake. */
  readonly prefix: string | null;
  /** The column of the numbers. */
  readonly phone_at: number;
};

/** The counts of the rows so far; the rejects follow at the end. */
export type FileProgress<Reason = string> = {
  readonly counts: IntakeCounts;
  readonly rejects: Rejects<Reason> | null;
};

/**
 * Runs the thread of a file source. `open` receives the terms and the number of cells of the header's row, and returns
 * the function that validates a row by its number and cells.
 */
export function runFileThread<R extends { readonly phone: string }, Reason>(
  format: RecipientFormat<R, Reason>,
  open: (
    terms: never,
    width: number,
  ) => (value: string, cells: readonly string[]) => R | Rejected<Reason>,
): Promise<void> {
  return runLineThread<FileProgress<Reason>>((terms: FileTerms, width) => {
    const validate = open(terms as never, width);
    const intake = openLineIntake(format, terms.prefix);
    return {
      add({ row_number: row, cells }) {
        const value = cellText(cells[terms.phone_at]);
        intake.take({ row, value, recipient: validate(value, cells) });
      },
      take: intake.takeLines,
      progress: (ended) => ({
        counts: intake.counts(),
        rejects: ended ? intake.rejects() : null,
      }),
    };
  });
}

/** The column of a variable. */
export type VariableColumn = {
  readonly name: string;
  readonly at: number;
  /** A row without a value is rejected. */
  readonly required?: boolean;
};

/**
 * Opens a reader that returns the variables of a row as JSON text, or null if it has none. An empty cell
 * is not a value, so that defaults apply. `missing` is the first required variable without a value.
 */
export function openVariablesReader(columns: readonly VariableColumn[]): (
  cells: readonly string[],
) => {
  readonly variables: string | null;
  readonly missing: string | null;
} {
  const named = columns.map((column) => ({ ...column, json: `${jsonText(column.name)}:` }));
  return (cells) => {
    let text = "";
    let missing: string | null = null;
    for (const { name, at, required, json } of named) {
      const value = cellText(cells[at]);
      if (value !== "") text += `${text === "" ? "{" : ","}${json}${jsonText(value)}`;
      else if (required) missing ??= name;
    }
    return { variables: text === "" ? null : `${text}}`, missing };
  };
}

/** Replaces lone surrogates, which a file in UTF-16 may contain and the database rejects. */
function jsonText(text: string): string {
  return JSON.stringify(text.toWellFormed());
}
