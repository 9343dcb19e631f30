// A campaign's recipients as CSV, page by page: memory holds one page, no transaction stays open, and
// when nobody reads on, no further page is asked for.
import { stringify } from "csv-stringify/sync";
import type { App } from "../engine/app.ts";
import {
  recipientsAfter,
  type CampaignPlace,
  type RecipientFilter,
} from "./campaign-recipients.ts";
import type { RecipientAnswer } from "./campaign-record-schema.ts";

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
] as const satisfies readonly (keyof RecipientAnswer)[];

/** The recipients that the filter lets through, as chunks of CSV with a header line; variables are JSON. */
export async function* exportRecipients(
  app: App,
  place: CampaignPlace,
  filter: RecipientFilter,
): AsyncGenerator<string> {
  yield csv([[...columns]]);
  let after = 0;
  for (;;) {
    const rows = await recipientsAfter(app.db.query, place, filter, {
      id: after,
      limit: page_rows,
    });
    if (rows.length === 0) return;
    yield csv(rows.map((row) => columns.map((column) => cellOf(row[column]))));
    if (rows.length < page_rows) return;
    after = rows.at(-1)!.id;
  }
}

/** Text that a spreadsheet would run as a formula gets an apostrophe in front: an id of the provider's may be any. */
function csv(rows: unknown[][]): string {
  return stringify(rows, { escape_formulas: true, record_delimiter: "\r\n" });
}

function cellOf(value: RecipientAnswer[keyof RecipientAnswer]): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
