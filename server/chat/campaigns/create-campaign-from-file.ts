// Creates a campaign for the recipients of an uploaded CSV file, up to a million of them.
import type { App } from "../../engine/app.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { openLineThread, type LineThread } from "../../lib/csv/open-line-thread.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import type { CampaignHead, ChatCampaignAnswer } from "./chat-campaign-schema.ts";
import {
  statement_seconds,
  writeCampaign,
  type CampaignOwner,
  type CampaignWrites,
} from "./create-chat-campaign.ts";
import { wakeSenders } from "../numbers/wake-senders.ts";
import type { FileColumns, FileThreadData } from "./intake/file-thread.ts";
import { locateColumns, type ColumnFields } from "./intake/locate-columns.ts";
import { affordableRecipients, insufficientCredit } from "./intake/refuse-without-credit.ts";
import { storeLines } from "./intake/store-recipients.ts";
import type { NumberCounts } from "./intake/trim-numbers.ts";
import { validateCampaign } from "./validate-campaign.ts";

const file_thread = new URL("./intake/file-thread.ts", import.meta.url);
type RecipientFile = LineThread<FileColumns, NumberCounts>;

/** An upload that has arrived in full. */
export type CampaignFile = ColumnFields & {
  /** An open file, which lasts until the campaign is created or refused; null when none came. */
  readonly fd: number | null;
  /** The campaign's other fields, of a right shape unless there are violations. */
  readonly head: CampaignHead;
  /** What is wrong with the shape of the other fields. */
  readonly violations: readonly FieldError[];
};

/**
 * The campaign of a file: every other column than the numbers' is a variable. Refuses as
 * createChatCampaign does; what is wrong with the file is on `file`, `phone_column` and `variables`.
 */
export async function createCampaignFromFile(
  app: App,
  { account, actor }: CampaignOwner,
  writes: CampaignWrites,
  upload: CampaignFile,
): Promise<ChatCampaignAnswer> {
  const { fd, head } = upload;
  if (fd === null) throw invalid([...upload.violations, { field: "file", reason: "is required" }]);
  return csvParsing.use(account.id, async () => {
    const now = app.clock.now();
    const valid_only = account.chat_valid_numbers_only;
    const data: FileThreadData = { fd, account_id: account.id, valid_only };
    const file: RecipientFile = await openLineThread(file_thread, data, statement_seconds);
    try {
      const { columns, violations } = locateColumns(file.header, upload);
      const wrong = [...upload.violations, ...violations];
      if (wrong.length > 0) throw invalid(wrong);
      const order = await validateCampaign(app.db.query, account, head, {
        has_recipients: true,
        now,
      });
      const affordable = await affordableRecipients(app.db.query, account.id, now);
      const answer = await writes.writeWithClient(statement_seconds, (tx, client) =>
        writeCampaign(tx, actor, order, now, async (_tx, place) => {
          const lines = affordableLines(file, file.lines(columns), affordable);
          await storeLines(client, place, lines, statement_seconds);
          const { valid: stored, ...trimmed } = file.told()!;
          if (stored > affordable) throw insufficientCredit();
          return { stored, ...trimmed };
        }),
      );
      wakeSenders(app, account.id, [order.chat_number_id]);
      return answer;
    } finally {
      await file.close();
    }
  });
}

/** The rest of a file that is too dear is only read: it may yet turn out to be no CSV, which comes first. */
async function* affordableLines(
  file: RecipientFile,
  lines: AsyncIterable<Uint8Array>,
  affordable: number,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of lines) if (file.told()!.valid <= affordable) yield chunk;
}
