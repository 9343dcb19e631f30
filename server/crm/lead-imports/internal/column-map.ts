// Maps the columns of a CSV to the fields of a lead.
import { Refusal, type FieldError } from "../../../lib/errors.ts";
import { parseJsonBody } from "../../../lib/json-body.ts";
import type { WorkspaceSchema } from "../../workspaces/workspace-schema.ts";

/** {lead field or customFields.<key>: header of its column}. */
export type ColumnMap = Readonly<Record<string, string>>;

/** The fields of a lead that a column may provide, in addition to custom fields. */
const lead_fields = new Set([
  "phone",
  "name",
  "email",
  "assignedAgentId",
  "statusId",
  "sourceId",
  "priorityId",
]);

/** Parses a request's `columnMap` part, and returns every violation. */
export function readColumnMap(
  text: string | undefined,
  schema: WorkspaceSchema,
): { map: ColumnMap; violations: FieldError[] } {
  if (text === undefined)
    return { map: {}, violations: [{ field: "columnMap", reason: "is required" }] };
  const value = parse(text);
  if (!value) {
    const reason = "must be a JSON object of the form {lead field: column header}";
    return { map: {}, violations: [{ field: "columnMap", reason }] };
  }
  return { map: value as ColumnMap, violations: validate(value, schema) };
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value = parseJsonBody(Buffer.from(text));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function validate(map: Record<string, unknown>, schema: WorkspaceSchema): FieldError[] {
  const violations: FieldError[] = [];
  for (const [name, header] of Object.entries(map)) {
    const field = `columnMap.${name}`;
    const key = /^customFields\.(.*)$/s.exec(name)?.[1];
    if (key === undefined && !lead_fields.has(name)) {
      violations.push({ field, reason: "is not a field of a lead" });
    } else if (key !== undefined && !schema.fields.has(key)) {
      violations.push({ field, reason: "is not a custom field of this workspace" });
    } else if (typeof header !== "string" || header.trim() === "") {
      violations.push({ field, reason: "must be the header of a column" });
    }
  }
  const required = [...schema.fields.values()]
    .filter((field) => field.required)
    .map(({ key }) => `customFields.${key}`);
  for (const name of ["phone", ...required]) {
    if (!Object.hasOwn(map, name))
      violations.push({ field: `columnMap.${name}`, reason: "is required" });
  }
  return violations;
}

/** Locates each mapped column in the header; a column must occur exactly once. */
export function locateColumns(
  map: ColumnMap,
  header: readonly string[],
): { columns: Map<string, number>; violations: FieldError[] } {
  const columns = new Map<string, number>();
  const violations: FieldError[] = [];
  for (const [name, wanted] of Object.entries(map)) {
    const at = header.indexOf(wanted.trim());
    const field = `columnMap.${name}`;
    if (at < 0) violations.push({ field, reason: "is not a column of the file" });
    else if (header.lastIndexOf(wanted.trim()) !== at)
      violations.push({ field, reason: "is the header of two columns" });
    else columns.set(name, at);
  }
  return { columns, violations };
}
