import {
  openLineIntake,
  openRowIntake,
  type Intake,
  type Recipient,
} from "../../../audience/intake/open-intake.ts";
import type {
  IntakeSummary,
  RecipientSource,
} from "../../../audience/recipients/recipient-source.ts";
import { chat_format, placeholderPrefix, stampLines } from "./recipient-format.ts";

/** The recipients of a body; many are COPY lines with a placeholder for their campaign. */
export type Recipients = IntakeSummary &
  (
    | { readonly form: "lines"; readonly chunks: readonly Uint8Array[] }
    | { readonly form: "rows"; readonly rows: readonly Recipient[] }
  );

/** Recipients as a list. */
export type RecipientRows = Extract<Recipients, { readonly form: "rows" }>;

/** Gathers recipients of one account in the given form. */
export function gatherRecipients(
  form: Recipients["form"],
  accountId: number,
): Pick<Intake<Recipient>, "take"> & { end(): Recipients } {
  if (form === "rows") {
    const { take, counts, rejects, recipients: rows } = openRowIntake(chat_format);
    return { take, end: () => ({ ...counts(), rejects: rejects(), form, rows }) };
  }
  const intake = openLineIntake(chat_format, placeholderPrefix(accountId));
  const chunks: Uint8Array[] = [];
  const keep = (all: boolean) => {
    const chunk = intake.takeLines(all);
    if (chunk) chunks.push(chunk);
  };
  return {
    take(row) {
      intake.take(row);
      keep(false);
    },
    end() {
      keep(true);
      return { ...intake.counts(), rejects: intake.rejects(), form, chunks };
    },
  };
}

/** Opens the recipient source of gathered recipients. */
export function openBodySource(gathered: Recipients): RecipientSource<Recipient> {
  return {
    readFew:
      gathered.form === "rows" ? async () => ({ ...gathered, recipients: gathered.rows }) : null,
    async *lines(prefix) {
      const chunks = gathered.form === "lines" ? gathered.chunks : [];
      for (const chunk of chunks) yield stampLines(chunk, prefix!);
    },
    counts: () => gathered,
    summary: () => gathered,
  };
}
