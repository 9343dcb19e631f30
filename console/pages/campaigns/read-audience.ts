// Reads pasted or uploaded recipients: one a line, with values in further columns.
import Papa from "papaparse";
import { compactPhone, nationalPhone } from "../../from-server.ts";

/** Recipients as a table; without a heading line, the columns have numbers. */
export type Audience = {
  readonly columns: readonly string[];
  /** Whether the first line names the columns. */
  readonly has_heading: boolean;
  readonly rows: readonly (readonly string[])[];
  /** The first row with a value beyond the named columns, whose values are probably shifted. */
  readonly longer_row: readonly string[] | undefined;
  /** The column of the phone numbers. */
  readonly phone_column: number;
  readonly delimiter: string;
};

export type Contact = {
  readonly phone_number: string;
  readonly variables?: Readonly<Record<string, string>>;
};

const phone_heading = /^(?:phone|phone[ _]?number|number|mobile|whatsapp|msisdn)$/i;

/**
 * Reads CSV with any usual separator. A first line without digits of a number is a heading. Without a chosen column,
 * the numbers are in the one whose name says so, or the first that looks like it.
 */
export function readAudience(text: string, chosen = ""): Audience {
  const { data, meta } = Papa.parse<string[]>(text.trim(), { skipEmptyLines: "greedy" });
  const rows = oneNumberALine(data.map((row) => row.map((cell) => cell.trim())));
  const head = rows[0] ?? [];
  const has_heading = head.length > 0 && !head.some((cell) => /\d{6}/.test(withoutMarks(cell)));
  const columns = has_heading ? head : head.map((_, at) => `Column ${at + 1}`);
  const named = columns.findIndex((name) => phone_heading.test(name));
  const found = named === -1 ? (rows[has_heading ? 1 : 0] ?? []).findIndex(isNumber) : named;
  const phone_column = columns[Number(chosen)] && chosen !== "" ? Number(chosen) : found;
  return {
    columns,
    has_heading,
    rows: has_heading ? rows.slice(1) : rows,
    longer_row: has_heading ? rows.find((row) => row.slice(head.length).some(Boolean)) : undefined,
    phone_column: Math.max(0, phone_column),
    delimiter: meta.delimiter,
  };
}

/** Splits lines of nothing but numbers, unless they may be a table: the same columns in several lines. */
function oneNumberALine(rows: readonly string[][]): readonly string[][] {
  const lists = rows.map((row) =>
    row.flatMap((cell) => cell.split(/[,;]/)).filter((cell) => cell.trim() !== ""),
  );
  const isTable = rows.length > 1 && new Set(lists.map(({ length }) => length)).size === 1;
  const numbers = lists.flat().map((cell) => cell.trim());
  return isTable || !numbers.every(isNumber) ? rows : numbers.map((number) => [number]);
}

function isNumber(cell: string): boolean {
  return /^\d{10,15}$/.test(withoutMarks(cell));
}

/** Without what stands between the digits of a written number. */
function withoutMarks(cell: string): string {
  return compactPhone(cell).replaceAll("+", "");
}

/**
 * Returns the recipients with their values; `mapping` is the column of each variable. Numbers of the account's country
 * get its code, which the API does not guess.
 */
export function contactsOf(
  { rows, phone_column }: Audience,
  mapping: Readonly<Record<string, number>>,
  country_code: string,
): Contact[] {
  const mapped = Object.entries(mapping);
  return rows.map((row) => {
    const values = mapped.flatMap(([key, column]) => (row[column] ? [[key, row[column]]] : []));
    const written = row[phone_column] ?? "";
    const phone_number = nationalPhone(written, country_code) ?? written;
    return values.length === 0
      ? { phone_number }
      : { phone_number, variables: Object.fromEntries(values) as Record<string, string> };
  });
}

/** Returns how many numbers are written without their country code. */
export function countNational(
  { rows, phone_column }: Pick<Audience, "rows" | "phone_column">,
  country_code: string,
): number {
  return rows.filter((row) => {
    const written = row[phone_column] ?? "";
    const phone = nationalPhone(written, country_code);
    return phone !== null && !withoutMarks(written).endsWith(phone);
  }).length;
}

/** Maps each variable to the column of its name, otherwise to the next column beside the number's. */
export function defaultMapping(
  { columns, phone_column }: Audience,
  keys: readonly string[],
): Record<string, number> {
  const others = columns.map((_, at) => at).filter((at) => at !== phone_column);
  const pairs = keys.flatMap((key, index) => {
    const named = columns.findIndex((name) => name.toLowerCase() === key.toLowerCase());
    const column = named === -1 ? others[index] : named;
    return column === undefined ? [] : [[key, column] as const];
  });
  return Object.fromEntries(pairs);
}
