// Creates a campaign for the recipients of an uploaded CSV file, up to a million of them.
import { recipients_max, statement_seconds } from "../../audience/intake/limits.ts";
import { openFileSource, type RecipientFile } from "../../audience/recipients/recipient-source.ts";
import type { CampaignWrites } from "../../audience/recipients/write-with-recipients.ts";
import type { App } from "../../engine/app.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { openLineThread } from "../../lib/csv/open-line-thread.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import type { CampaignHead, ChatCampaignResponse } from "./chat-campaign-schema.ts";
import { submitCampaign, type CampaignOwner } from "./create-chat-campaign.ts";
import { affordableRecipients, withinCredit } from "./intake/affordable-recipients.ts";
import type { ChatFileTerms } from "./intake/file-thread.ts";
import { locateColumns, type ColumnFields } from "./intake/locate-columns.ts";
import { validateCampaign } from "./validate-campaign.ts";

const file_thread = new URL("./intake/file-thread.ts", import.meta.url);

/** An upload that has arrived in full. */
export type CampaignFile = ColumnFields & {
  /** An open file, valid until the campaign is created or refused; null without a file. */
  readonly fd: number | null;
  /** The campaign's other fields; their shape is valid unless there are violations. */
  readonly head: CampaignHead;
  /** Violations in the shape of the other fields. */
  readonly violations: readonly FieldError[];
};

/**
 * Creates a campaign from a file; every column except the phone column is a variable. Errors: as
 * createChatCampaign; violations of the file are on `file`, `phone_column` and `variables`.
 */
export async function createCampaignFromFile(
  app: App,
  owner: CampaignOwner,
  writes: CampaignWrites,
  { fd, head, violations, ...fields }: CampaignFile,
): Promise<ChatCampaignResponse> {
  const { account } = owner;
  if (fd === null) throw invalid([...violations, { field: "file", reason: "is required" }]);
  return csvParsing.use(account.id, async () => {
    const now = app.clock.now();
    const data = { fd, rows_max: recipients_max };
    const file: RecipientFile<ChatFileTerms> = await openLineThread(
      file_thread,
      data,
      statement_seconds,
    );
    try {
      const { violations: of_columns, ...columns } = locateColumns(file.header, fields);
      const found = [...violations, ...of_columns];
      if (found.length > 0) throw invalid(found);
      const order = await validateCampaign(app.db.query, account, head, {
        has_recipients: true,
        now,
      });
      const affordable = await affordableRecipients(app.db.query, account.id, recipients_max, now);
      const valid_only = account.chat_valid_numbers_only;
      const rows = openFileSource(file, (prefix) => ({ ...columns, valid_only, prefix }));
      const source = withinCredit(rows, affordable, { is_file: true });
      return await submitCampaign(app, owner, writes, { order, source, now });
    } finally {
      await file.close();
    }
  });
}
