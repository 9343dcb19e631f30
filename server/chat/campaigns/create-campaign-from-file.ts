// Creates or previews a campaign for the recipients of an uploaded CSV file, up to a million of them.
import type { Caller } from "../../accounts/caller.ts";
import { recipients_max, statement_seconds } from "../../audience/intake/limits.ts";
import type { Recipient } from "../../audience/intake/open-intake.ts";
import {
  openFileSource,
  type RecipientFile,
  type RecipientSource,
} from "../../audience/recipients/recipient-source.ts";
import type { CampaignWrites } from "../../audience/recipients/write-with-recipients.ts";
import type { App } from "../../engine/app.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { openLineThread } from "../../lib/csv/open-line-thread.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import type {
  CampaignHead,
  CampaignPreview,
  ChatCampaignResponse,
} from "./chat-campaign-schema.ts";
import { submitCampaign, type CampaignOwner } from "./create-chat-campaign.ts";
import { affordableRecipients, withinCredit } from "./intake/affordable-recipients.ts";
import type { ChatFileTerms } from "./intake/file-thread.ts";
import { locateColumns, type ColumnFields } from "./intake/locate-columns.ts";
import { readRecipients } from "./intake/recipient-format.ts";
import { kept_variables, previewChatCampaign } from "./preview-chat-campaign.ts";
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
export function createCampaignFromFile(
  app: App,
  owner: CampaignOwner,
  writes: CampaignWrites,
  file: CampaignFile,
): Promise<ChatCampaignResponse> {
  const { account } = owner;
  return readFile(account, file, async (rows) => {
    const now = app.clock.now();
    const db = app.db.query;
    const order = await validateCampaign(db, account, file.head, { has_recipients: true, now });
    const affordable = await affordableRecipients(db, account.id, recipients_max, now);
    const source = withinCredit(rows, affordable, { is_file: true });
    return submitCampaign(app, owner, writes, { order, source, now });
  });
}

/** Previews a campaign from a file. Errors: as createCampaignFromFile, but for insufficient credit. */
export function previewCampaignFromFile(
  app: App,
  account: Caller["account"],
  file: CampaignFile,
): Promise<CampaignPreview> {
  return readFile(account, file, async (source) => {
    const rows: Recipient[] = [];
    for await (const lines of source.lines(""))
      for (const recipient of readRecipients(lines))
        rows.push(rows.length < kept_variables ? recipient : { ...recipient, variables: null });
    const recipients = { ...source.summary(), form: "rows" as const, rows };
    return previewChatCampaign(app, account, { head: file.head, has_recipients: true, recipients });
  });
}

/** Opens the file, whose columns it locates, for `use`. Throws every violation of the upload. */
async function readFile<Result>(
  account: Caller["account"],
  { fd, violations, ...fields }: CampaignFile,
  use: (source: RecipientSource<never>) => Promise<Result>,
): Promise<Result> {
  if (fd === null) throw invalid([...violations, { field: "file", reason: "is required" }]);
  return csvParsing.use(account.id, async () => {
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
      const valid_only = account.chat_valid_numbers_only;
      return await use(openFileSource(file, (prefix) => ({ ...columns, valid_only, prefix })));
    } finally {
      await file.close();
    }
  });
}
