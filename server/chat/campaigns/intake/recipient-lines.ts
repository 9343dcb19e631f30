// Recipients in COPY's text format. Lines are made before their campaign has an id, often in another
// thread: each begins with a place of fixed width that the id is written into on the way out.

/** The COPY that takes the lines. */
export const copy_sql =
  "copy chat_recipients (campaign_id, account_id, phone, variables) from stdin";

const id_digits = 16;
const id_place = "0".repeat(id_digits);
const newline = 10;
const chunk_characters = 65_536;

const encoder = new TextEncoder();

export type LineWriter = {
  /** `variables` is JSON text as JSON.stringify makes it, or null. */
  add(phone: string, variables: string | null): void;
  /** The lines since the last call when they are many, or in any case with `all`; else null. */
  take(all?: boolean): Uint8Array | null;
};

/** Gathers lines for one account; the arrays it gives are their own and can be handed to a thread. */
export function openLineWriter(accountId: number): LineWriter {
  const head = `${id_place}\t${accountId}\t`;
  let lines = "";
  return {
    add(phone, variables) {
      lines += `${head}${phone}\t${variables === null ? "\\N" : escape(variables)}\n`;
    },
    take(all = false) {
      if (lines === "" || (!all && lines.length < chunk_characters)) return null;
      const bytes = encoder.encode(lines);
      lines = "";
      return bytes;
    },
  };
}

/** JSON text holds no control characters, so a backslash is all that COPY would take for more. */
function escape(json: string): string {
  return json.includes("\\") ? json.replaceAll("\\", "\\\\") : json;
}

/** Writes the campaign's id into every line: PostgreSQL reads leading zeros as it should. */
export function stampLines(lines: Uint8Array, campaignId: number): Buffer {
  const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength);
  const id = Buffer.from(String(campaignId).padStart(id_digits, "0"), "latin1");
  for (let at = 0; at < bytes.length; at = bytes.indexOf(newline, at) + 1) bytes.set(id, at);
  return bytes;
}
