// The rejected rows of a launch, in row order, each with its reason.
import type { Kysely } from "kysely";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { App } from "../../engine/app.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import { decodeIntCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import type { VoiceReject } from "./voice-campaign-schema.ts";

const csv_page_rows = 1_000;

/** Returns a page of rejected rows. Refuses: validation-failed on a cursor of another list. */
export async function listVoiceRejects(
  db: Kysely<DB>,
  key: CampaignKey,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: VoiceReject[]; next_cursor: string | null }> {
  const after = at.cursor === undefined ? 0 : decodeIntCursor(at.cursor);
  const found = await rejectsAfter(db, key, after, at.limit + 1);
  const { rows, next } = page(
    found.map((reject) => ({ id: reject.row, reject })),
    at.limit,
  );
  return { data: rows.map(({ reject }) => reject), next_cursor: next };
}

/** Streams all rejected rows as chunks of CSV with a header line. */
export function exportVoiceRejects(
  { db }: Pick<App, "db">,
  key: CampaignKey,
): AsyncGenerator<string> {
  return writeCsv<VoiceReject>({
    header: ["row", "value", "reason"],
    page_rows: csv_page_rows,
    next: (after, limit) => rejectsAfter(db.query, key, after?.row ?? 0, limit),
    cells: ({ row, value, reason }) => [row, value, reason],
  });
}

function rejectsAfter(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignKey,
  after: number,
  limit: number,
): Promise<VoiceReject[]> {
  return db
    .selectFrom("voice_rejects")
    .select(["row", "value", "reason"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .where("row", ">", after)
    .orderBy("row")
    .limit(limit)
    .execute();
}
