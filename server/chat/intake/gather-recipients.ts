import type { RecipientSink } from "./read-contacts.ts";
import { openLineWriter } from "./recipient-lines.ts";

/** Recipients that wait to be stored: many as lines of COPY, few as they are. */
export type Recipients =
  | { readonly form: "lines"; readonly chunks: readonly Uint8Array[] }
  | {
      readonly form: "rows";
      readonly phones: readonly string[];
      /** JSON text or null, by the same index. */
      readonly variables: readonly (string | null)[];
    };

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

function gatherRows() {
  const phones: string[] = [];
  const variables: (string | null)[] = [];
  const sink: RecipientSink = {
    add(phone, text) {
      phones.push(phone);
      variables.push(text);
    },
  };
  return { sink, end: (): Recipients => ({ form: "rows", phones, variables }) };
}
