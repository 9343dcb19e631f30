// The workspace in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, optional, timestamp } from "../../lib/schemas.ts";

const name = Type.String({
  maxLength: 255,
  pattern: "\\S",
  description: "Unique within the account",
  "x-reason": "must be text of at most 255 characters, not blank",
});

/** The request body of a new workspace. */
export const NewWorkspace = closed(
  {
    name,
    active: optional(Type.Boolean({ description: "Default true" })),
  },
  { title: "NewWorkspace", examples: [{ name: "Sales" }] },
);
export type NewWorkspace = Static<typeof NewWorkspace>;

/** The request body of a change to a workspace. */
export const WorkspacePatch = closed(
  {
    name: Type.Optional(name),
    active: Type.Optional(
      Type.Boolean({ description: "Leads and contacts of an inactive workspace respond with 404" }),
    ),
  },
  { title: "WorkspacePatch", minProperties: 1, examples: [{ name: "Sales, north" }] },
);
export type WorkspacePatch = Static<typeof WorkspacePatch>;

export const WorkspaceResponse = Type.Object(
  {
    id: id("Workspace id"),
    name: Type.String(),
    active: Type.Boolean(),
    createdAt: timestamp("UTC"),
    updatedAt: timestamp("UTC"),
  },
  { title: "Workspace" },
);
export type WorkspaceResponse = Static<typeof WorkspaceResponse>;

/** The columns that `workspaceResponse` needs. */
export const workspace_columns = ["id", "name", "active", "created_at", "updated_at"] as const;

export function workspaceResponse(row: {
  id: number;
  name: string;
  active: boolean;
  created_at: Date;
  updated_at: Date;
}): WorkspaceResponse {
  return {
    id: row.id,
    name: row.name,
    active: row.active,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
