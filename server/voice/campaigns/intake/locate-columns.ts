import type { FieldError } from "../../../lib/errors.ts";
import type { PlanVariable } from "../internal/plan-variables.ts";
import type { VariableColumn } from "./people-thread.ts";

/** Where a file's header has what a campaign needs, and what is wrong with it. */
export type Located = {
  readonly number_at: number;
  readonly variables: readonly VariableColumn[];
  readonly violations: readonly FieldError[];
};

/** Finds the numbers' column and those of the variables; columns that nothing names are not read. */
export function locateColumns(
  header: readonly string[],
  numberColumn: string,
  variables: readonly PlanVariable[],
): Located {
  const violations: FieldError[] = [];
  const number_at = header.indexOf(numberColumn);
  if (number_at < 0)
    violations.push({
      field: "csv_number_column",
      reason: `is not a column of the file, ${shown(header)}`,
    });
  else if (header.lastIndexOf(numberColumn) !== number_at)
    violations.push({ field: "csv_number_column", reason: "is the header of two columns" });
  const located: VariableColumn[] = [];
  for (const { name, required } of variables) {
    const at = header.indexOf(name);
    if (at >= 0) located.push({ name, at, required });
    const reason =
      at < 0
        ? required && `has no column "${name}", which the script needs a value of`
        : header.lastIndexOf(name) !== at && `has two columns "${name}"`;
    if (reason) violations.push({ field: "file", reason });
  }
  return { number_at, variables: located, violations };
}

function shown(header: readonly string[]): string {
  const names = header.slice(0, 20).map((name) => `"${name.slice(0, 64)}"`);
  return `which has ${names.join(", ")}${header.length > names.length ? " and more" : ""}`;
}
