import { sql, type Kysely } from "kysely";
import type { DB } from "../../../lib/database/database.ts";

/** Whose cap on calls keeps a campaign from calling. */
export type CampaignCap = "account" | "token" | null;

/** Returns the cap that another call would exceed now, by the token that launched the campaign; null: by none. */
export async function findCaps(
  db: Kysely<DB>,
  accountId: number,
  tokenIds: ReadonlySet<number | null>,
  now: Date,
): Promise<ReadonlyMap<number | null, CampaignCap>> {
  if (tokenIds.size === 0) return new Map();
  // Without tables: Citus cannot run the function for the rows of an account.
  const { rows } = await sql<{ token_id: number | null; cap: CampaignCap }>`
    select t.token_id, call_cap(${accountId}, t.token_id, '{null}', ${now}) as cap
    from unnest(${[...tokenIds]}::bigint[]) t (token_id)`.execute(db);
  return new Map(rows.map(({ token_id, cap }) => [token_id, cap]));
}
