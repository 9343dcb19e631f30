import { locateColumn, otherColumns } from "../../../audience/intake/locate-column.ts";
import type { VariableColumn } from "../../../audience/intake/run-file-thread.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { unstorable } from "../../../lib/json-body.ts";
import { variables_max } from "./limits.ts";

/** The form's fields about the file's columns, unvalidated. */
export type ColumnFields = {
  readonly phone_column: string | undefined;
  readonly variables: string | undefined;
};

/** Tried in this order when no phone_column is given. */
const phone_columns = ["phone_number", "phone"];

/**
 * Finds the phone column and the columns of the variables: those that `variables` names, a JSON
 * object {variable: column}, or every other column with a header. Reports every violation.
 */
export function locateColumns(
  header: readonly string[],
  fields: ColumnFields,
): {
  readonly phone_at: number;
  readonly variables: readonly VariableColumn[];
  readonly violations: readonly FieldError[];
} {
  const violations: FieldError[] = [];
  const find = (column: string, field: string): number => {
    const at = locateColumn(header, column);
    if (typeof at === "number") return at;
    violations.push({ field, reason: at });
    return -1;
  };
  const given = fields.phone_column?.trim() || undefined;
  const column = given ?? phone_columns.find((name) => header.includes(name));
  if (column === undefined)
    violations.push({
      field: "phone_column",
      reason: `is required, as the file has no column ${phone_columns.join(" or ")}`,
    });
  const phone_at = column === undefined ? -1 : find(column, "phone_column");
  if (fields.variables?.trim()) {
    const named = readVariables(fields.variables);
    if (typeof named === "string") violations.push({ field: "variables", reason: named });
    const entries = typeof named === "string" ? [] : named;
    const variables = entries.map(([name, from]) => ({
      name,
      at: find(from.trim(), `variables.${name}`),
    }));
    return { phone_at, variables, violations };
  }
  const { columns, doubled } = otherColumns(header, [phone_at]);
  if (doubled !== null) violations.push({ field: "file", reason: `has two columns "${doubled}"` });
  return { phone_at, variables: columns, violations };
}

/** The entries of the JSON object, or its violation. */
function readVariables(text: string): [string, string][] | string {
  const wrong = "must be a JSON object {variable: column}";
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong;
    const entries = Object.entries(value as Record<string, unknown>);
    const unfit = entries.map(([name]) => unstorable(name)).find((reason) => reason !== null);
    if (unfit) return `has a key that ${unfit}`;
    if (entries.length > variables_max) return `must have at most ${variables_max} entries`;
    return entries.every((entry): entry is [string, string] => typeof entry[1] === "string")
      ? entries
      : wrong;
  } catch {
    return wrong;
  }
}
