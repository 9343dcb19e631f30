// The rows that a launch left out, in their order, each with the reason.
import { stringify } from "csv-stringify/sync";
import type { Kysely } from "kysely";
import type { App } from "../engine/app.ts";
import { inertCell } from "../lib/csv/inert-cell.ts";
import { decodeCursor, page } from "../lib/cursor.ts";
import type { DB } from "../lib/database.ts";
import type { CampaignPlace } from "./find-campaign-place.ts";
import type { VoiceReject } from "./voice-campaign-schema.ts";

const csv_page_rows = 1_000;

/** A page of them; 422 on a cursor that is not of this list. */
export async function listVoiceRejects(
  db: Kysely<DB>,
  place: CampaignPlace,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: VoiceReject[]; next_cursor: string | null }> {
  const after = at.cursor === undefined ? 0 : decodeCursor(at.cursor);
  // No file has so many rows, and the column holds no larger number.
  const found = await rejectsAfter(db, place, Math.min(after, 2 ** 31 - 1), at.limit + 1);
  const { rows, next } = page(
    found.map((reject) => ({ id: reject.row, reject })),
    at.limit,
  );
  return { data: rows.map(({ reject }) => reject), next_cursor: next };
}

/** All of them as chunks of CSV with a header line. */
export async function* exportVoiceRejects(
  { db }: Pick<App, "db">,
  place: CampaignPlace,
): AsyncGenerator<string> {
  yield csv([["row", "value", "reason"]]);
  for (let after = 0; ;) {
    const rejects = await rejectsAfter(db.query, place, after, csv_page_rows);
    if (rejects.length === 0) return;
    yield csv(rejects.map(({ row, value, reason }) => [row, inertCell(value), reason]));
    after = rejects.at(-1)!.row;
  }
}

function csv(rows: unknown[][]): string {
  return stringify(rows, { record_delimiter: "\r\n" });
}

function rejectsAfter(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignPlace,
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
