import type { Kysely } from "kysely";
import { decodeCursor, page, readBounded } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { aiAgentResponse, type AiAgentResponse } from "./ai-agent-schema.ts";

/** Lists the account's AI agents by id. Refuses: validation-failed on a cursor of another list. */
export async function listAiAgents(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: AiAgentResponse[]; next_cursor: string | null }> {
  let query = db.selectFrom("voice_ai_agents").selectAll().where("account_id", "=", accountId);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await readBounded(db, query.orderBy("id").limit(limit + 1), {
    large: ["plan", "rehearsals"],
    order: "id",
  });
  const { rows, next } = page(found, limit);
  return { data: rows.map(aiAgentResponse), next_cursor: next };
}

/** Returns one AI agent of the account. Refuses: not-found. */
export async function readAiAgent(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<AiAgentResponse> {
  const row = await db
    .selectFrom("voice_ai_agents")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw notFound();
  return aiAgentResponse(row);
}
