// What becomes of the people who are called: lines for COPY, rows, or their phones alone.
import type { RecipientSink } from "./open-intake.ts";

/** What all recipients of a campaign have in common. */
export type RecipientTerms = {
  readonly account_id: number;
  readonly campaign_id: number;
  readonly state: "waiting" | "synthesizing";
  /** ISO 8601. */
  readonly due_at: string;
};

/** Texts gathered to chunks; the arrays it gives are their own and can be handed to a thread. */
export type ChunkSink = RecipientSink & {
  /** What came since the last call when it is much, or in any case with `all`; else null. */
  take(all?: boolean): Uint8Array | null;
};

/** The COPY that takes the lines. */
export const copy_sql = `copy voice_recipients
  (account_id, campaign_id, state, due_at, id, number, phone, variables) from stdin`;

const chunk_characters = 65_536;
const encoder = new TextEncoder();

/** Lines of COPY. */
export function openLineSink({
  account_id,
  campaign_id,
  state,
  due_at,
}: RecipientTerms): ChunkSink {
  const head = `${account_id}\t${campaign_id}\t${state}\t${due_at}\t`;
  return openChunks(
    (id, { number, phone, variables }) =>
      `${head}${id}\t${number}\t${phone}\t${variables === null ? "\\N" : escape(variables)}\n`,
  );
}

/** A phone a line. */
export function openPhoneSink(): ChunkSink {
  return openChunks((_id, { phone }) => `${phone}\n`);
}

function openChunks(lineOf: (...added: Parameters<RecipientSink["add"]>) => string): ChunkSink {
  let lines = "";
  return {
    add(id, recipient) {
      lines += lineOf(id, recipient);
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

/** A few recipients as they are, by the same index. */
export type RecipientRows = {
  readonly numbers: readonly string[];
  readonly phones: readonly string[];
  readonly variables: readonly (string | null)[];
};

/** Gathers recipients in the order of their ids. */
export function openRowSink(): RecipientSink & { rows(): RecipientRows } {
  const rows = {
    numbers: [] as string[],
    phones: [] as string[],
    variables: [] as (string | null)[],
  };
  return {
    add(_id, { number, phone, variables }) {
      rows.numbers.push(number);
      rows.phones.push(phone);
      rows.variables.push(variables);
    },
    rows: () => rows,
  };
}
