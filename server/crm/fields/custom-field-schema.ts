// Custom fields in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, optional } from "../../lib/schemas.ts";
import type { FieldError } from "../../lib/errors.ts";
import type { CustomFieldType } from "../workspaces/workspace-schema.ts";

const types = ["text", "number", "boolean", "date", "select", "multiselect"] as const;

// Keys become object properties in many programs, so the names that every object has are reserved.
const key = Type.String({
  pattern: "^(?!(?:constructor|prototype)$)[a-z][a-z0-9_]{0,62}$",
  description: "The field's name in customFields; immutable",
  "x-reason":
    "must be 1 to 63 characters of a-z, 0-9 and _, beginning with a letter, and not a reserved word",
});
const label = Type.String({
  maxLength: 100,
  pattern: "\\S",
  description: "Display text",
  "x-reason": "must be text of at most 100 characters, not blank",
});
const choices = Type.Array(
  Type.String({
    maxLength: 200,
    pattern: "\\S",
    "x-reason": "must be text of at most 200 characters, not blank",
  }),
  {
    minItems: 1,
    maxItems: 200,
    uniqueItems: true,
    description: "The choices of a select or multiselect; other types have none",
  },
);
const required = Type.Boolean({ description: "Whether a new lead must have a value" });
const position = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description: "Display position; last by default",
});

/** The request body of a new custom field. */
export const NewCustomField = closed(
  {
    key,
    label,
    type: Type.Enum(types, { type: "string", description: "Never changes" }),
    required: optional(required),
    options: optional(choices),
    position: optional(position),
  },
  {
    title: "NewCustomField",
    examples: [{ key: "tier", label: "Tier", type: "select", options: ["Gold", "Silver"] }],
  },
);
export type NewCustomField = Static<typeof NewCustomField>;

/** The request body of a change to a custom field. */
export const CustomFieldPatch = closed(
  {
    label: Type.Optional(label),
    required: Type.Optional(required),
    options: Type.Optional(choices),
    position: Type.Optional(position),
    archived: Type.Optional(
      Type.Boolean({
        description: "Leads keep the values of an archived field and get no new ones",
      }),
    ),
  },
  { title: "CustomFieldPatch", minProperties: 1, examples: [{ label: "Customer tier" }] },
);
export type CustomFieldPatch = Static<typeof CustomFieldPatch>;

export const CustomFieldResponse = Type.Object(
  {
    id: id("Custom field id"),
    key: Type.String(),
    label: Type.String(),
    type: Type.Enum(types, { type: "string" }),
    required: Type.Boolean(),
    options: Type.Array(Type.String()),
    position: Type.Integer(),
    archived: Type.Boolean(),
  },
  { title: "CustomField" },
);
export type CustomFieldResponse = Static<typeof CustomFieldResponse>;

/** Reports whether fields of this type have a list of choices. */
export function hasChoices(type: unknown): boolean {
  return type === "select" || type === "multiselect";
}

/** Returns the violations that the schema cannot express. The body may have any shape. */
export function validateNewCustomField(body: unknown): FieldError[] {
  if (typeof body !== "object" || body === null) return [];
  const { type, options } = body as Record<string, unknown>;
  const isGiven = options !== undefined && options !== null;
  if (hasChoices(type) && !isGiven) {
    return [{ field: "options", reason: "is required for a select or multiselect" }];
  }
  if (types.some((known) => known === type) && !hasChoices(type) && isGiven) {
    return [{ field: "options", reason: options_refused }];
  }
  return [];
}

/** Reason why a field of another type cannot have options. */
export const options_refused = "must be omitted: only a select or multiselect has options";

/** The columns that `customFieldResponse` needs. */
export const field_columns = [
  "id",
  "key",
  "label",
  "type",
  "required",
  "options",
  "position",
  "archived_at",
] as const;

export type CustomFieldRow = {
  id: number;
  key: string;
  label: string;
  type: string;
  required: boolean;
  options: string[];
  position: number;
  archived_at: Date | null;
};

export function customFieldResponse({ archived_at, ...row }: CustomFieldRow): CustomFieldResponse {
  return { ...row, type: row.type as CustomFieldType, archived: archived_at !== null };
}
