import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { TrunkResponse } from "./trunk-schema.ts";

/** Returns a page of the installation's trunks with their limits per node, by ID. */
export async function listTrunks(
  db: Kysely<DB>,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: TrunkResponse[]; next_cursor: string | null }> {
  let query = db.selectFrom("trunks").selectAll();
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await query
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  const shares = await findShares(
    db,
    rows.map(({ id }) => id),
  );
  return { data: rows.map((row) => trunkResponse(row, shares)), next_cursor: next };
}

/** Returns a trunk with its limits per node. Refuses: not-found. */
export async function readTrunk(db: Kysely<DB>, id: number): Promise<TrunkResponse> {
  const row = await db.selectFrom("trunks").selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return trunkResponse(row, await findShares(db, [id]));
}

function findShares(db: Kysely<DB>, trunkIds: readonly number[]) {
  return db
    .selectFrom("trunk_nodes")
    .selectAll()
    .where("trunk_id", "in", [...trunkIds, 0])
    .orderBy("node_id")
    .execute();
}

type Shares = Awaited<ReturnType<typeof findShares>>;
type Row = Omit<
  TrunkResponse,
  "number_format" | "agent_numbers" | "nodes" | "created_at" | "updated_at"
> & {
  number_format: string;
  agent_numbers: string;
  created_at: Date;
  updated_at: Date;
};

function trunkResponse(row: Row, shares: Shares): TrunkResponse {
  return {
    ...row,
    number_format: row.number_format as TrunkResponse["number_format"],
    agent_numbers: row.agent_numbers as TrunkResponse["agent_numbers"],
    nodes: shares
      .filter(({ trunk_id }) => trunk_id === row.id)
      .map(({ node_id, calls_per_second, calls_max }) => ({
        node_id,
        calls_per_second,
        calls_max,
      })),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
