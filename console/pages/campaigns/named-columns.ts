// Voice campaigns read the columns of a file by the names of the variables, so the chosen columns are renamed.
import Papa from "papaparse";
import type { Contact } from "./read-audience.ts";
import type { Encoding, LargeFile } from "./read-file.ts";
import type { ReadyDraft } from "./use-campaign-draft.ts";
import type { AudienceDraft } from "./use-audience.ts";

/** With parentheses, which a variable's name cannot have. */
const numbers_only = "(phone)";

/** A file, and the name of its column of numbers. */
type NamedColumns = { readonly file: File; readonly csv_number_column: string };

/**
 * Returns the recipients as a file with a column for each variable. In a large file, a variable that is filled with
 * the numbers names their column.
 */
export function nameColumns({
  large,
  contacts,
  audience,
  mapping,
}: ReadyDraft<AudienceDraft>): NamedColumns {
  if (!large) {
    const file = new File([csvOf(contacts, Object.keys(mapping))], "recipients.csv");
    return { file, csv_number_column: numbers_only };
  }
  const { columns, phone_column, delimiter } = audience;
  const variableOf = (at: number) =>
    Object.entries(mapping).find(([, column]) => column === at)?.[0];
  const csv_number_column = variableOf(phone_column) ?? numbers_only;
  // A column that is not chosen fills nothing, also if it has a variable's name.
  const names = columns.map((_, at) =>
    at === phone_column ? csv_number_column : (variableOf(at) ?? `(column ${at + 1})`),
  );
  const file = new File([withHeading(large, names, delimiter)], large.file.name);
  return { file, csv_number_column };
}

function csvOf(contacts: readonly Contact[], keys: readonly string[]): string {
  const rows = contacts.map(({ phone_number, variables = {} }) => [
    phone_number,
    ...keys.map((key) => variables[key] ?? ""),
  ]);
  return Papa.unparse([[numbers_only, ...keys], ...rows]);
}

/** Replaces the first line; the rest of the file is not read. */
function withHeading(
  { file, head, encoding, bom_bytes }: LargeFile,
  names: readonly string[],
  delimiter: string,
): Blob {
  // The cursor of the fast mode is a line too far.
  const { meta } = Papa.parse(head, { delimiter, preview: 1, fastMode: false });
  const replaced = encode(head.slice(0, meta.cursor), encoding).length;
  const line = encode(names.join(delimiter) + meta.linebreak, encoding);
  return new Blob([file.slice(0, bom_bytes), line, file.slice(bom_bytes + replaced)]);
}

/** Names of variables are ASCII; what is replaced needs its length alone. */
function encode(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === "utf-8") return new TextEncoder().encode(text);
  const units = [...Array(text.length).keys()].map((at) => text.charCodeAt(at));
  if (encoding === "windows-1252") return Uint8Array.from(units);
  return Uint8Array.from(
    units.flatMap((unit) => {
      const [low, high] = [unit & 0xff, unit >> 8];
      return encoding === "utf-16le" ? [low, high] : [high, low];
    }),
  );
}
