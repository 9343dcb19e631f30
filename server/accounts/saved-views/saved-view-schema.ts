// The saved view in API requests and responses.
import Type, { type Static } from "typebox";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, mapOf, pageQuery, timestamp } from "../../lib/schemas.ts";
import { shownName } from "../accounts/account-schema.ts";

const search_bytes_max = 4_000;

const page = Type.String({
  pattern: "^[a-z][a-z0-9-]{0,39}$",
  description: "The list that it is a view of, such as leads",
  "x-reason": "must be at most 40 small letters, digits and dashes, beginning with a letter",
});
const search = mapOf(Type.Unknown(), {
  description: `The list's filters, stored as they are: at most ${search_bytes_max} bytes of JSON`,
});
const columns = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  maxItems: 50,
  uniqueItems: true,
  description: "The columns shown, in order",
});
const fields = {
  name: shownName("Unique for the user and page"),
  search,
  columns,
  shared: Type.Boolean({
    description: "Whether every user of the account sees it, and may change and delete it",
  }),
};

export const NewSavedView = closed(
  { ...fields, page, shared: Type.Optional(fields.shared) },
  {
    title: "NewSavedView",
    description: "A view to save",
    examples: [
      { page: "leads", name: "Mine", search: { assignedAgentId: 1 }, columns: ["name", "status"] },
    ],
  },
);
export type NewSavedView = Static<typeof NewSavedView>;

export const SavedViewPatch = closed(
  {
    name: Type.Optional(fields.name),
    search: Type.Optional(search),
    columns: Type.Optional(columns),
    shared: Type.Optional(fields.shared),
  },
  {
    title: "SavedViewPatch",
    minProperties: 1,
    description: "What to change",
    examples: [{ shared: true }],
  },
);
export type SavedViewPatch = Static<typeof SavedViewPatch>;

export const savedViewQuery = { page: Type.Optional(page), ...pageQuery };

export const SavedViewResponse = Type.Object(
  {
    id: id("View id"),
    page: Type.String(),
    name: Type.String(),
    search,
    columns: Type.Array(Type.String()),
    shared: Type.Boolean(),
    user_id: id("The user who created it"),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "SavedView" },
);
export type SavedViewResponse = Static<typeof SavedViewResponse>;

/** Returns the violations of a view of any shape that its schema does not express. */
export function validateSavedView(body: unknown): FieldError[] {
  // Text has a method of this name.
  if (typeof body !== "object") return [];
  const given: unknown = body && "search" in body ? body.search : undefined;
  const bytes = given === undefined ? 0 : Buffer.byteLength(JSON.stringify(given));
  if (bytes <= search_bytes_max) return [];
  return [{ field: "search", reason: `must have at most ${search_bytes_max} bytes of JSON` }];
}
