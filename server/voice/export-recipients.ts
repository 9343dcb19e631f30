// A campaign's recipients as CSV, page by page: memory holds one page, no transaction stays open, and
// when nobody reads on, no further page is asked for.
import { stringify } from "csv-stringify/sync";
import type { App } from "../engine/app.ts";
import { recipientsAfter, type RecipientFilter } from "./campaign-recipients.ts";
import { VoiceRecipientAnswer } from "./campaign-record-schema.ts";
import type { CampaignPlace } from "./find-campaign-place.ts";

const page_rows = 1_000;

const columns = Object.keys(
  VoiceRecipientAnswer.properties,
) as readonly (keyof VoiceRecipientAnswer)[];

/** The recipients that the filter lets through, as chunks of CSV with a header line; variables and the menu's path are JSON. */
export async function* exportRecipients(
  app: App,
  place: CampaignPlace,
  filter: RecipientFilter,
): AsyncGenerator<string> {
  yield csv([[...columns]]);
  let after = 0;
  for (;;) {
    const at = { id: after, limit: page_rows };
    const rows = await recipientsAfter(app.db.query, place, filter, at);
    if (rows.length === 0) return;
    yield csv(rows.map((row) => columns.map((column) => cellOf(row[column]))));
    if (rows.length < page_rows) return;
    after = rows.at(-1)!.id;
  }
}

/**
 * Text that a spreadsheet would run as a formula gets an apostrophe in front; a phone number with its
 * plus stays as it is.
 */
function csv(rows: unknown[][]): string {
  return stringify(rows, {
    escape_formulas: true,
    record_delimiter: "\r\n",
    cast: { string: (text) => (phone.test(text) ? { ...plain, value: text } : text) },
  });
}

const phone = /^\+[0-9]{7,15}$/;
const plain = { escape_formulas: false };

function cellOf(value: VoiceRecipientAnswer[keyof VoiceRecipientAnswer]): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
