// Validates what a JSON schema cannot express: a lead's options and custom fields must be the workspace's.
// Accepts any shape, because it runs together with the shape's validation to report all violations at once.
import { notFound, type FieldError } from "../../lib/errors.ts";
import { isLonger } from "../../lib/csv/is-longer.ts";
import { unstorable } from "../../lib/json-body.ts";
import type {
  CustomField,
  Picklist,
  WorkspaceSchema,
  WorkspaceSchemas,
} from "../workspaces/workspace-schema.ts";

/** A lead's values of custom fields, by key. */
type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the violations of a new lead, or of a patch if `readOwn` reads the custom fields of its lead; throws
 * not-found if no such active workspace exists. If a cached schema yields violations, it is read again first, because
 * another process may have just added what it misses.
 */
export async function validateWithSchema(
  schemas: WorkspaceSchemas,
  accountId: number,
  workspaceId: number,
  lead: unknown,
  readOwn?: () => Promise<Values>,
): Promise<FieldError[]> {
  const mode = readOwn ? "patch" : "new";
  const kept = await schemas.find(accountId, workspaceId);
  if (!kept) throw notFound();
  if (validateLead(kept, lead, mode).length === 0) return [];
  const present = await schemas.refresh(accountId, workspaceId);
  if (!present) throw notFound();
  return validateLead(present, lead, mode, await readOwn?.());
}

/**
 * Returns every violation of this schema. A patch may omit a required custom field but not clear it, and may repeat a
 * removed choice that the lead already has (`own`).
 */
export function validateLead(
  schema: WorkspaceSchema,
  lead: unknown,
  mode: "new" | "patch" = "new",
  own: Values = {},
): FieldError[] {
  if (typeof lead !== "object" || lead === null || Array.isArray(lead)) return [];
  const fields = lead as Record<string, unknown>;
  return [
    ...validateOption(schema, "statusId", "status", fields["statusId"]),
    ...validateOption(schema, "sourceId", "source", fields["sourceId"]),
    ...validateOption(schema, "priorityId", "priority", fields["priorityId"]),
    ...validateCustomFields(schema, fields["customFields"] ?? {}, mode, own),
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
  own: Values,
): FieldError[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return [];
  const violations: FieldError[] = [];
  for (const [key, value] of Object.entries(given)) {
    const field = schema.fields.get(key);
    const reason = field
      ? validateValue(field, value, mode, ownChoices(own, key))
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

/** The value of a select, or those of a multiselect. */
function ownChoices(own: Values, key: string): readonly unknown[] {
  return Object.hasOwn(own, key) ? [own[key]].flat() : [];
}

const text_max = 5_000;

function validateValue(
  field: CustomField,
  value: unknown,
  mode: "new" | "patch",
  own: readonly unknown[],
): string | null {
  // Null means omitted in a new lead, and clears the field in a patch.
  if (value === null)
    return field.required
      ? mode === "new"
        ? "is required"
        : "is required and cannot be cleared"
      : null;
  switch (field.type) {
    case "text":
      if (typeof value !== "string") return "must be a string";
      if (isLonger(value, text_max)) return `must have at most ${text_max} characters`;
      if (field.required && value === "") return "is required";
      return unstorable(value);
    case "number":
      return validateNumber(value);
    case "boolean":
      return typeof value === "boolean" ? null : "must be true or false";
    case "date":
      return isDate(value) ? null : "must be a date of the form YYYY-MM-DD";
    case "select":
      return isChoice(field, own, value) ? null : `must be one of ${choicesOf(field)}`;
    case "multiselect":
      return validateChoices(field, own, value);
  }
}

/** JSON numbers beyond 2^53 lose precision. */
function validateNumber(value: unknown): string | null {
  if (typeof value !== "number") return "must be a number";
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return null;
  return `must be a number of at most ${Number.MAX_SAFE_INTEGER}`;
}

const choices_shown_max = 20;

function choicesOf(field: CustomField): string {
  const shown = field.options.slice(0, choices_shown_max).join(", ");
  const more = field.options.length - choices_shown_max;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function validateChoices(
  field: CustomField,
  own: readonly unknown[],
  value: unknown,
): string | null {
  // Each distinct entry once: a body may repeat one 200,000 times.
  const distinct = new Set(Array.isArray(value) ? value : []);
  if (!Array.isArray(value) || ![...distinct].every((entry) => isChoice(field, own, entry))) {
    return `must be a list of ${choicesOf(field)}`;
  }
  if (distinct.size !== value.length) return "must not contain an entry twice";
  return field.required && value.length === 0 ? "is required" : null;
}

function isChoice(field: CustomField, own: readonly unknown[], value: unknown): boolean {
  return typeof value === "string" && (field.options.includes(value) || own.includes(value));
}

function isDate(value: unknown): boolean {
  if (typeof value !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const date = new Date(`${value}T00:00:00Z`);
  // Date would convert 2026-02-30 to a day in March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
}
