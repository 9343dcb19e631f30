import type { RecipientSink } from "./read-contacts.ts";
import { openLineWriter } from "./recipient-lines.ts";

/** A few recipients as they are. */
export type RecipientRows = {
  readonly form: "rows";
  readonly phones: readonly string[];
  /** JSON text or null, by the same index. */
  readonly variables: readonly (string | null)[];
};

/** Recipients that wait to be stored; many are lines of COPY. */
export type Recipients =
  | { readonly form: "lines"; readonly chunks: readonly Uint8Array[] }
  | RecipientRows;

/** Gathers recipients for one account in the given form. */
export function gatherRecipients(
  form: Recipients["form"],
  accountId: number,
): { readonly sink: RecipientSink; end(): Recipients } {
  return form === "lines" ? gatherLines(accountId) : gatherRows();
}

function gatherLines(accountId: number) {
  const writer = openLineWriter(accountId);
  const chunks: Uint8Array[] = [];
  const keep = (all: boolean) => {
    const chunk = writer.take(all);
    if (chunk) chunks.push(chunk);
  };
  const sink: RecipientSink = {
    add(phone, variables) {
      writer.add(phone, variables);
      keep(false);
    },
  };
  const end = (): Recipients => {
    keep(true);
    return { form: "lines", chunks };
  };
  return { sink, end };
}

/** Gathers recipients as they are. */
export function gatherRows(): { readonly sink: RecipientSink; end(): RecipientRows } {
  const phones: string[] = [];
  const variables: (string | null)[] = [];
  const sink: RecipientSink = {
    add(phone, text) {
      phones.push(phone);
      variables.push(text);
    },
  };
  return { sink, end: () => ({ form: "rows", phones, variables }) };
}
