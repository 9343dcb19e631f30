import { locateColumn } from "../../../audience/intake/locate-column.ts";
import type { VariableColumn } from "../../../audience/intake/run-file-thread.ts";
import type { FieldError } from "../../../lib/errors.ts";
import type { PlanVariable } from "../internal/plan-variables.ts";

/** The columns of a file that a campaign reads, and the violations of its header. */
export type LocatedColumns = {
  readonly phone_at: number;
  readonly variables: readonly VariableColumn[];
  readonly violations: readonly FieldError[];
};

/** Locates the column of the numbers and those of the variables; other columns are not read. */
export function locateColumns(
  header: readonly string[],
  numberColumn: string,
  variables: readonly PlanVariable[],
): LocatedColumns {
  const violations: FieldError[] = [];
  const at = locateColumn(header, numberColumn);
  if (typeof at === "string") {
    const reason = header.includes(numberColumn) ? at : `${at}, ${shown(header)}`;
    violations.push({ field: "csv_number_column", reason });
  }
  for (const { name, required } of variables) {
    const [first, last] = [header.indexOf(name), header.lastIndexOf(name)];
    const reason =
      first < 0
        ? required && `must have a column "${name}", which the script requires`
        : first !== last && `has two columns "${name}"`;
    if (reason) violations.push({ field: "file", reason });
  }
  return {
    phone_at: typeof at === "number" ? at : -1,
    variables: variables
      .map(({ name, required }) => ({ name, required, at: header.indexOf(name) }))
      .filter(({ at: place }) => place >= 0),
    violations,
  };
}

function shown(header: readonly string[]): string {
  const names = header.slice(0, 20).map((name) => `"${name.slice(0, 64)}"`);
  return `which has ${names.join(", ")}${header.length > names.length ? " and more" : ""}`;
}
