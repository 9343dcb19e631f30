// Exports a campaign's recipients as CSV.
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { App } from "../../engine/app.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import { recipientsAfter, type RecipientFilter } from "./campaign-recipients.ts";
import type { RecipientResponse } from "./campaign-record-schema.ts";

const page_rows = 1_000;

const columns = [
  "id",
  "phone_number",
  "state",
  "attempts",
  "error_code",
  "error",
  "provider_message_id",
  "dispatched_at",
  "accepted_at",
  "sent_at",
  "delivered_at",
  "read_at",
  "ended_at",
  "variables",
  "bsuid",
] as const satisfies readonly (keyof RecipientResponse)[];

/** Yields the matching recipients as chunks of CSV with a header line; variables are JSON. */
export function exportChatRecipients(
  app: App,
  key: CampaignKey,
  filter: RecipientFilter,
): AsyncGenerator<string> {
  return writeCsv<RecipientResponse>({
    header: columns,
    page_rows,
    next: (after, limit) =>
      recipientsAfter(app.db.query, key, filter, { id: after?.id ?? 0, limit }),
    cells: (row) => columns.map((column) => row[column]),
  });
}
