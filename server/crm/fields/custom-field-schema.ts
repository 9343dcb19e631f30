// Custom fields as they go in and come out.
import Type, { type Static } from "typebox";
import { closed, id, optional } from "../../lib/schemas.ts";
import type { FieldError } from "../../lib/errors.ts";
import type { CustomFieldType } from "../workspaces/workspace-schema.ts";

const types = ["text", "number", "boolean", "date", "select", "multiselect"] as const;

// A key becomes a property of objects in many programs: those every object has are no keys.
const key = Type.String({
  pattern: "^(?!(?:constructor|prototype)$)[a-z][a-z0-9_]{0,62}$",
  description: "Its name in a lead's customFields; never changes",
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
    description: "The choices of select and multiselect; other types have none",
  },
);
const required = Type.Boolean({ description: "Whether a lead cannot be created without it" });
const position = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description: "Fields are shown in this order; the last place unless said",
});

/** The body of a custom field's creation. */
export const NewCustomField = closed(
  {
    key,
    label,
    type: Type.Enum(types, { type: "string", description: "Never changes" }),
    required: optional(required),
    options: optional(choices),
    position: optional(position),
  },
  { examples: [{ key: "tier", label: "Tier", type: "select", options: ["Gold", "Silver"] }] },
);
export type NewCustomField = Static<typeof NewCustomField>;

/** The body of a custom field's patch. */
export const CustomFieldPatch = closed(
  {
    label: Type.Optional(label),
    required: Type.Optional(required),
    options: Type.Optional(choices),
    position: Type.Optional(position),
    archived: Type.Optional(
      Type.Boolean({ description: "Leads keep the values of archived fields and get no new ones" }),
    ),
  },
  { minProperties: 1, examples: [{ label: "Customer tier" }] },
);
export type CustomFieldPatch = Static<typeof CustomFieldPatch>;

export const CustomFieldAnswer = Type.Object({
  id: id("Custom field id"),
  key: Type.String(),
  label: Type.String(),
  type: Type.Enum(types, { type: "string" }),
  required: Type.Boolean(),
  options: Type.Array(Type.String()),
  position: Type.Integer(),
  archived: Type.Boolean(),
});
export type CustomFieldAnswer = Static<typeof CustomFieldAnswer>;

/** Whether fields of this type are chosen from options. */
export function hasChoices(type: unknown): boolean {
  return type === "select" || type === "multiselect";
}

/** What a schema alone cannot say of a new field's body, which may have any shape. */
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

/** Why a field of another type gets no choices. */
export const options_refused = "only a select or multiselect has options";

/** What of a row `customFieldAnswer` needs. */
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

export function customFieldAnswer({ archived_at, ...row }: CustomFieldRow): CustomFieldAnswer {
  return { ...row, type: row.type as CustomFieldType, archived: archived_at !== null };
}
