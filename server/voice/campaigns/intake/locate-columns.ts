import { locateColumn } from "../../../audience/intake/locate-column.ts";
import type { VariableColumn } from "../../../audience/intake/run-file-thread.ts";
import type { FieldError } from "../../../lib/errors.ts";
import type { PlanVariable } from "../internal/plan-variables.ts";

/** Where a file's header has what a campaign needs, and what is wrong with it. */
export type Located = {
  readonly phone_at: number;
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
  const at = locateColumn(header, numberColumn);
  if (typeof at === "string") {
    const reason = header.includes(numberColumn) ? at : `${at}, ${shown(header)}`;
    violations.push({ field: "csv_number_column", reason });
  }
  for (const { name, required } of variables) {
    const [first, last] = [header.indexOf(name), header.lastIndexOf(name)];
    const reason =
      first < 0
        ? required && `has no column "${name}", which the script needs a value of`
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
