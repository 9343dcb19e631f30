import Type, { type Static } from "typebox";
import type { App } from "../../engine/app.ts";
import { decodeCursor, endOfSearch, page } from "../../lib/database/cursor.ts";
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
  const users = app.db.query
    .selectFrom("users")
    .where("account_id", "=", accountId)
    .where("id", ">", cursor === undefined ? 0 : decodeCursor(cursor))
    .orderBy("id");
  const end = active === undefined ? null : await endOfSearch(users.select("id"));
  const found = await users
    .select(["id", "name", "email", "phone", "extension", "active"])
    .$if(end !== null, (query) => query.where("id", "<=", end))
    .$if(active !== undefined, (query) => query.where("active", "=", active!))
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit, end);
  return { data: rows, nextCursor: next };
}
