// What a schema alone cannot say of a lead: whether its options and custom fields are this
// workspace's. Takes anything, because it runs beside the shape's check: all violations at once.
import { notFound, type FieldError } from "../../lib/errors.ts";
import { unstorable } from "../../lib/json-body.ts";
import type {
  CustomField,
  Picklist,
  WorkspaceSchema,
  WorkspaceSchemas,
} from "../workspaces/workspace-schema.ts";

/**
 * The violations of a new lead by the workspace's present schema; not-found when there is no such
 * active workspace. A kept copy that finds violations is read anew first: another process may just
 * have added what it misses.
 */
export async function validateNewLead(
  schemas: WorkspaceSchemas,
  accountId: number,
  workspaceId: number,
  lead: unknown,
): Promise<FieldError[]> {
  const kept = await schemas.find(accountId, workspaceId);
  if (!kept) throw notFound();
  if (validateLead(kept, lead).length === 0) return [];
  const present = await schemas.refresh(accountId, workspaceId);
  if (!present) throw notFound();
  return validateLead(present, lead);
}

/** Every violation by this schema. In a patch, a required custom field may be absent but not cleared. */
export function validateLead(
  schema: WorkspaceSchema,
  lead: unknown,
  mode: "new" | "patch" = "new",
): FieldError[] {
  if (typeof lead !== "object" || lead === null || Array.isArray(lead)) return [];
  const fields = lead as Record<string, unknown>;
  return [
    ...validateOption(schema, "statusId", "status", fields["statusId"]),
    ...validateOption(schema, "sourceId", "source", fields["sourceId"]),
    ...validateOption(schema, "priorityId", "priority", fields["priorityId"]),
    ...validateCustomFields(schema, fields["customFields"] ?? {}, mode),
  ];
}

function validateOption(
  schema: WorkspaceSchema,
  field: string,
  picklist: Picklist,
  id: unknown,
): FieldError[] {
  if (typeof id !== "number") return [];
  const option = schema.options.get(id);
  if (option?.picklist === picklist && !option.archived) return [];
  return [{ field, reason: `is not a ${picklist} option of this workspace` }];
}

function validateCustomFields(
  schema: WorkspaceSchema,
  given: unknown,
  mode: "new" | "patch",
): FieldError[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return [];
  const violations: FieldError[] = [];
  for (const [key, value] of Object.entries(given)) {
    const field = schema.fields.get(key);
    const reason = field
      ? validateValue(field, value, mode)
      : "is not a custom field of this workspace";
    if (reason) violations.push({ field: `customFields.${key}`, reason });
  }
  if (mode === "patch") return violations;
  for (const field of schema.fields.values()) {
    if (field.required && !Object.hasOwn(given, field.key)) {
      violations.push({ field: `customFields.${field.key}`, reason: "is required" });
    }
  }
  return violations;
}

const text_max = 5_000;

function validateValue(field: CustomField, value: unknown, mode: "new" | "patch"): string | null {
  // Null equals omitted on a new lead, and clears the field in a patch.
  if (value === null)
    return field.required
      ? mode === "new"
        ? "is required"
        : "is required and cannot be cleared"
      : null;
  switch (field.type) {
    case "text":
      if (typeof value !== "string") return "must be a string";
      if (value.length > text_max && Array.from(value).length > text_max)
        return `must have at most ${text_max} characters`;
      if (field.required && value === "") return "is required";
      return unstorable(value);
    case "number":
      return validateNumber(value);
    case "boolean":
      return typeof value === "boolean" ? null : "must be true or false";
    case "date":
      return isDate(value) ? null : "must be a date of the form YYYY-MM-DD";
    case "select":
      return isChoice(field, value) ? null : `must be one of ${choicesOf(field)}`;
    case "multiselect":
      return validateChoices(field, value);
  }
}

/** Beyond 2^53 a number of JSON is no longer the one that was sent. */
function validateNumber(value: unknown): string | null {
  if (typeof value !== "number") return "must be a number";
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return null;
  return `must be a number of at most ${Number.MAX_SAFE_INTEGER}`;
}

const choices_told_max = 20;

function choicesOf(field: CustomField): string {
  const told = field.options.slice(0, choices_told_max).join(", ");
  const more = field.options.length - choices_told_max;
  return more > 0 ? `${told} and ${more} more` : told;
}

function validateChoices(field: CustomField, value: unknown): string | null {
  if (!Array.isArray(value) || !value.every((choice) => isChoice(field, choice))) {
    return `must be a list of ${choicesOf(field)}`;
  }
  if (new Set(value).size !== value.length) return "must not hold an entry twice";
  return field.required && value.length === 0 ? "is required" : null;
}

function isChoice(field: CustomField, value: unknown): boolean {
  return typeof value === "string" && field.options.includes(value);
}

function isDate(value: unknown): boolean {
  if (typeof value !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const date = new Date(`${value}T00:00:00Z`);
  // 2026-02-30 would become March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
}
