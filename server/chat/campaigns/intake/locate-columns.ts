import type { FieldError } from "../../../lib/errors.ts";
import { unstorable } from "../../../lib/json-body.ts";
import type { FileColumns } from "./file-thread.ts";
import { variables_max } from "./limits.ts";

/** What the form says of the file's columns, as it came. */
export type ColumnFields = {
  readonly phone_column: string | undefined;
  readonly variables: string | undefined;
};

/** Tried in this order when no phone_column is given. */
const phone_columns = ["phone_number", "phone"];

/**
 * Finds the column of the numbers and those of the variables: the ones that `variables` names, a JSON
 * object {variable: column}, or else every other column that has a header. Names every violation.
 */
export function locateColumns(
  header: readonly string[],
  fields: ColumnFields,
): { readonly columns: FileColumns; readonly violations: readonly FieldError[] } {
  const violations: FieldError[] = [];
  const find = (column: string, field: string): number => {
    const at = header.indexOf(column);
    if (at < 0) violations.push({ field, reason: "is not a column of the file" });
    else if (header.lastIndexOf(column) !== at)
      violations.push({ field, reason: "is the header of two columns" });
    return at;
  };
  const given = fields.phone_column?.trim() || undefined;
  const column = given ?? phone_columns.find((name) => header.includes(name));
  let phone = -1;
  if (column === undefined)
    violations.push({
      field: "phone_column",
      reason: `is required, as the file has no column ${phone_columns.join(" or ")}`,
    });
  else phone = find(column, "phone_column");
  const named = fields.variables?.trim() ? readVariables(fields.variables) : null;
  if (typeof named === "string") {
    violations.push({ field: "variables", reason: named });
    return { columns: { phone, variables: [] }, violations };
  }
  const variables = named
    ? named.map(([name, from]) => ({ name, at: find(from.trim(), `variables.${name}`) }))
    : otherColumns(header, phone, violations);
  return { columns: { phone, variables }, violations };
}

function otherColumns(header: readonly string[], phone: number, violations: FieldError[]) {
  const others = header
    .map((name, at) => ({ name, at }))
    .filter(({ name, at }) => name !== "" && at !== phone);
  const doubled = others.find(({ name, at }) => header.indexOf(name) !== at);
  if (doubled) violations.push({ field: "file", reason: `has two columns "${doubled.name}"` });
  return others;
}

/** The entries of the JSON object, or what is wrong with it. */
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
