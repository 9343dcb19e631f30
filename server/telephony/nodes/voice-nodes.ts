import type { Kysely } from "kysely";
import type { VoiceDriverName } from "../../drivers/voice/driver.ts";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { VoiceNodeResponse } from "./voice-node-schema.ts";

/** Returns a page of the installation's voice nodes, by ID. */
export async function listVoiceNodes(
  db: Kysely<DB>,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: VoiceNodeResponse[]; next_cursor: string | null }> {
  let query = nodeRows(db);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await query
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  return { data: rows.map(nodeResponse), next_cursor: next };
}

/** Returns a voice node. Refuses: not-found. */
export async function readVoiceNode(db: Kysely<DB>, id: number): Promise<VoiceNodeResponse> {
  const row = await nodeRows(db).where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return nodeResponse(row);
}

/** Omits the password, which only drivers read. */
function nodeRows(db: Kysely<DB>) {
  return db
    .selectFrom("voice_nodes")
    .select([
      "id",
      "name",
      "driver",
      "ari_url",
      "ari_user",
      "ari_app",
      "cdr_path",
      "sounds_dir",
      "calls_per_second",
      "calls_max",
      "active",
      "connected_at",
      "lost_at",
      "created_at",
      "updated_at",
    ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof nodeRows>["executeTakeFirstOrThrow"]>>;

function nodeResponse({
  ari_url,
  ari_user,
  ari_app,
  connected_at,
  lost_at,
  ...row
}: Row): VoiceNodeResponse {
  const driver = row.driver as VoiceDriverName;
  // A check constraint requires all of them of an Asterisk node.
  const ari =
    driver === "asterisk"
      ? { url: ari_url!, user: ari_user!, password_set: true as const, app: ari_app! }
      : null;
  return {
    ...row,
    driver,
    ari,
    connected: connected_at !== null,
    lost_at: lost_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
