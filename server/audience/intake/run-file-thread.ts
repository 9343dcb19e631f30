// The thread that turns an uploaded file into recipients; each channel has an entry of its own, which
// says how a row is validated.
import { cellText } from "../../lib/csv/cell-text.ts";
import { runLineThread } from "../../lib/csv/run-line-thread.ts";
import {
  openLineIntake,
  type IntakeCounts,
  type RecipientFormat,
  type Rejected,
  type Rejects,
} from "./open-intake.ts";

/** What every channel's terms have. */
export type FileTerms = {
  /** As openLineIntake takes it. */
  readonly prefix: string | null;
  /** The column of the numbers. */
  readonly phone_at: number;
};

/** What became of the rows so far; the rejects come at the end. */
export type FileProgress<Reason = string> = {
  readonly counts: IntakeCounts;
  readonly rejects: Rejects<Reason> | null;
};

/** Runs the thread of a file source. `open` returns the validation of one row by its number and cells. */
export function runFileThread<R extends { readonly phone: string }, Reason>(
  format: RecipientFormat<R, Reason>,
  open: (terms: never) => (value: string, cells: readonly string[]) => R | Rejected<Reason>,
): Promise<void> {
  return runLineThread<FileProgress<Reason>>((terms: FileTerms) => {
    const validate = open(terms as never);
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

/** Where a variable's values stand. */
export type VariableColumn = {
  readonly name: string;
  readonly at: number;
  /** A row without a value is rejected. */
  readonly required?: boolean;
};

/**
 * Reads the variables of a row as JSON text, or null without any; an empty cell is not a value, so
 * that defaults apply. `missing` is the first required one without a value.
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

/** A file in UTF-16 may hold halves of characters, which the database would refuse. */
function jsonText(text: string): string {
  return JSON.stringify(text.toWellFormed());
}
