import Type, { type Static } from "typebox";
import type { App } from "../../engine/app.ts";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import { id, nullable } from "../../lib/schemas.ts";
import { findWorkspace } from "./find-workspace.ts";

/** A user; leads can be assigned to active ones. */
export const Agent = Type.Object(
  {
    id: id("User ID, as in assignedAgentId"),
    name: Type.String(),
    email: Type.String(),
    phone: nullable(Type.String()),
    extension: nullable(Type.String()),
    active: Type.Boolean({ description: "Leads can only be assigned to active users" }),
  },
  { title: "Agent" },
);
export type Agent = Static<typeof Agent>;

/** Returns a page of the account's users by ID: all of them can work in every workspace. */
export async function listAgents(
  app: App,
  accountId: number,
  workspaceId: number,
  list: { limit: number; cursor?: string | undefined; active?: boolean | undefined },
): Promise<{ data: Agent[]; nextCursor: string | null }> {
  const { limit, cursor, active } = list;
  await findWorkspace(app.db.query, accountId, workspaceId);
  const found = await app.db.query
    .selectFrom("users")
    .select(["id", "name", "email", "phone", "extension", "active"])
    .where("account_id", "=", accountId)
    .$if(cursor !== undefined, (query) => query.where("id", ">", decodeCursor(cursor!)))
    .$if(active !== undefined, (query) => query.where("active", "=", active!))
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  return { data: rows, nextCursor: next };
}
