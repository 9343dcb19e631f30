// Picklists and their options in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, nullable, optional } from "../../lib/schemas.ts";
import { OptionResponse } from "../leads/lead-schema.ts";
import type { Picklist } from "../workspaces/workspace-schema.ts";

const label = Type.String({
  maxLength: 100,
  pattern: "\\S",
  description: "Display text",
  "x-reason": "must be text of at most 100 characters, not blank",
});
const color = Type.String({
  pattern: "^#[0-9a-fA-F]{6}$",
  description: "Hex color",
  "x-reason": "must be a color of the form #rrggbb",
});
const position = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  description: "Display position; last by default",
});

/** The request body of a new option. */
export const NewPicklistOption = closed(
  {
    label,
    value: optional(
      Type.String({
        pattern: "^[a-z0-9][a-z0-9_-]{0,62}$",
        description: "Machine value, unique in the picklist; derived from the label by default",
        "x-reason": "must be 1 to 63 characters of a-z, 0-9, _ and -, not beginning with _ or -",
      }),
    ),
    color: optional(color),
    isDefault: optional(Type.Boolean({ description: "true makes this option the default" })),
    position: optional(position),
  },
  { title: "NewPicklistOption", examples: [{ label: "On hold", color: "#d97706" }] },
);
export type NewPicklistOption = Static<typeof NewPicklistOption>;

/** The request body of a change to an option. */
export const PicklistOptionPatch = closed(
  {
    label: Type.Optional(label),
    color: Type.Optional(nullable(color)),
    isDefault: Type.Optional(
      Type.Boolean({
        description: "true makes this option the default; false is refused for the default",
      }),
    ),
    position: Type.Optional(position),
    archived: Type.Optional(
      Type.Boolean({ description: "Leads keep an archived option; new leads cannot use it" }),
    ),
  },
  { title: "PicklistOptionPatch", minProperties: 1, examples: [{ label: "Waiting" }] },
);
export type PicklistOptionPatch = Static<typeof PicklistOptionPatch>;

const managed = { isDefault: Type.Boolean(), position: Type.Integer() };

/** An option as its managers see it. */
export const PicklistOptionResponse = Type.Object(
  {
    ...OptionResponse.properties,
    ...managed,
    archived: Type.Boolean(),
  },
  { title: "PicklistOption" },
);
export type PicklistOptionResponse = Static<typeof PicklistOptionResponse>;

const options = Type.Array(
  Type.Object(
    {
      ...OptionResponse.properties,
      ...managed,
      archived: Type.Optional(
        Type.Boolean({ description: "Present if archived options are requested" }),
      ),
    },
    { title: "ListedPicklistOption" },
  ),
);

/** Every picklist of a workspace, with options ordered by `position`. */
export const Picklists = Type.Object(
  { status: options, source: options, priority: options },
  { title: "Picklists" },
);
export type Picklists = Static<typeof Picklists>;

/** The columns that `picklistOptionResponse` needs. */
export const option_columns = [
  "id",
  "picklist",
  "value",
  "label",
  "color",
  "is_default",
  "position",
  "archived_at",
] as const;

export type OptionRow = {
  id: number;
  picklist: string;
  value: string;
  label: string;
  color: string | null;
  is_default: boolean;
  position: number;
  archived_at: Date | null;
};

export function picklistOptionResponse(row: OptionRow): PicklistOptionResponse {
  return {
    id: row.id,
    value: row.value,
    label: row.label,
    color: row.color,
    isDefault: row.is_default,
    position: row.position,
    archived: row.archived_at !== null,
  };
}

/** The path of an option. */
export type OptionPath = {
  readonly workspaceId: number;
  readonly picklist: Picklist;
  readonly optionId: number;
};
