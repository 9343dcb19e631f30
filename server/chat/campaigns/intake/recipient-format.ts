import type { Recipient, RecipientFormat } from "../../../audience/intake/open-intake.ts";
import type { CampaignKey } from "../../../audience/recipients/campaign-key.ts";
import type { PhoneReader } from "../../../lib/chat-phone-numbers.ts";
import { isBsuid, parseBsuid } from "../../../lib/bsuid.ts";
import { copyText } from "../../../lib/csv/copy-line.ts";

/** How many examples of trimmed numbers are shown. */
export const samples_max = 20;

/** The columns of a chat recipient, after the prefix of its campaign. */
export const chat_format: RecipientFormat<Recipient> = {
  copy_sql: "copy chat_recipients (campaign_id, account_id, phone, variables, bsuid) from stdin",
  columnsOf: ({ phone, variables }) =>
    isBsuid(phone)
      ? `\\N\t${copyText(variables)}\t${copyText(phone)}`
      : `${phone}\t${copyText(variables)}\t\\N`,
  rejects_max: samples_max,
  duplicate_reason: "duplicate",
};

/** Reads lines of chat_format without a prefix. */
export function* readRecipients(lines: Uint8Array): Generator<Recipient> {
  for (const line of new TextDecoder().decode(lines).split("\n")) {
    if (line === "") continue;
    const [phone, variables, bsuid] = line.split("\t") as [string, string, string];
    yield {
      phone: phone === "\\N" ? bsuid : phone,
      // JSON text has no tab or line end; only its backslashes are escaped.
      variables: variables === "\\N" ? null : variables.replaceAll("\\\\", "\\"),
    };
  }
}

/**
 * Validates a number or BSUID: returns the recipient, or a rejection. Empty variables are stored as null.
 */
export function recipientOf(
  readPhone: PhoneReader,
  text: string,
  variables: string | null,
): Recipient | { readonly rejected: string } {
  const phone = parseBsuid(text) ?? readPhone(text);
  if (phone === null) return { rejected: "invalid" };
  return { phone, variables: variables === "{}" ? null : variables };
}

/** The first columns of a campaign's COPY lines. */
export function prefixOf({ account_id, campaign_id }: CampaignKey): string {
  return `${campaign_id}\t${account_id}\t`;
}

const id_digits = 16;
const newline = 10;

/**
 * The prefix of lines that are built before their campaign has an ID, often in another thread: a
 * placeholder of fixed width that stampLines overwrites.
 */
export function placeholderPrefix(account_id: number): string {
  return `${"0".repeat(id_digits)}\t${account_id}\t`;
}

/** Writes a campaign's prefix into every line; PostgreSQL accepts the leading zeros. */
export function stampLines(lines: Uint8Array, prefix: string): Buffer {
  const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength);
  const id = Buffer.from(prefix.slice(0, prefix.indexOf("\t")).padStart(id_digits, "0"), "latin1");
  for (let at = 0; at < bytes.length; at = bytes.indexOf(newline, at) + 1) bytes.set(id, at);
  return bytes;
}
