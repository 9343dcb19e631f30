// Exports a campaign's recipients as CSV.
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { App } from "../../engine/app.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import { recipientsAfter, type RecipientFilter } from "./campaign-recipients.ts";
import { VoiceRecipientResponse } from "./campaign-record-schema.ts";

const page_rows = 1_000;

const columns = Object.keys(
  VoiceRecipientResponse.properties,
) as readonly (keyof VoiceRecipientResponse)[];

/** Streams the recipients that match the filter as chunks of CSV with a header line; variables and menu path are JSON. */
export function exportVoiceRecipients(
  app: App,
  key: CampaignKey,
  filter: RecipientFilter,
): AsyncGenerator<string> {
  return writeCsv<VoiceRecipientResponse>({
    header: columns,
    page_rows,
    next: (after, limit) =>
      recipientsAfter(app.db.query, key, filter, {
        id: after?.id ?? 0,
        limit,
        now: app.clock.now(),
      }),
    cells: (row) => columns.map((column) => row[column]),
  });
}
