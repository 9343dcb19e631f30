// Reads a CSV file in any usual encoding and delimiter, row by row. Runs in its own thread, so it reads
// synchronously.
import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { cellText } from "./cell-text.ts";
import { CsvRefused } from "./csv-refused.ts";
import { detectEncoding, readText, type Encoding } from "./csv-text.ts";
import { hasOpenQuote } from "./has-open-quote.ts";

const columns_max = 500;
const record_characters_max = 1_000_000;
/** Empty rows are not counted as rows, but cost as much to read. */
const rows_with_empty_max = 2_000_000;

export type CsvRow = {
  /** Number in the file; the header is row 1. */
  readonly row_number: number;
  readonly cells: string[];
};

/** An open file. */
type Csv = {
  /** Without empty cells at the end. */
  readonly header: string[];
  /** The number of cells of the header's row, with empty ones at the end. */
  readonly width: number;
  readonly rows: AsyncGenerator<CsvRow>;
};

/**
 * Returns the header of an open file and its non-empty rows, at most `rows_max`. Throws CsvRefused, also while
 * the rows are read.
 */
export async function readCsv(fd: number, rows_max: number): Promise<Csv> {
  const records = readRecords(fd, detectEncoding(fd));
  const first = await records.next();
  if (first.done) throw new CsvRefused("is empty");
  const header = readHeader(first.value);
  return { header, width: first.value.length, rows: readRows(records, rows_max) };
}

async function* readRows(
  records: AsyncGenerator<string[]>,
  rows_max: number,
): AsyncGenerator<CsvRow> {
  let rows = 0;
  let row_number = 1;
  for await (const cells of records) {
    if (++row_number > rows_with_empty_max)
      throw new CsvRefused(`has more than ${rows_with_empty_max} rows, including empty ones`);
    // Spreadsheets count empty lines as rows, but they hold no data.
    if (cells.every((cell) => cell.trim() === "")) continue;
    if (++rows > rows_max) throw new CsvRefused(`has more than ${rows_max} rows`);
    if (cells.length > columns_max) throw tooWide(row_number);
    yield { row_number, cells };
  }
}

function readHeader(cells: string[]): string[] {
  const header = cells.map(cellText);
  while (header.at(-1) === "") header.pop();
  if (header.length === 0) throw new CsvRefused("has no header in its first row");
  if (header.length > columns_max) throw tooWide(1);
  return header;
}

function tooWide(row: number): CsvRefused {
  return new CsvRefused(`row ${row}: has more than ${columns_max} columns`);
}

async function* readRecords(fd: number, encoding: Encoding): AsyncGenerator<string[]> {
  const chunks = checkedText(fd, encoding);
  const head = chunks.next();
  const text = head.done ? "" : head.value;
  const delimiter = delimiterOf(text);
  const parser = parse({
    delimiter,
    // A file may be concatenated from several.
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: record_characters_max,
    raw: true,
  });
  const source = Readable.from(
    (function* whole() {
      yield text;
      yield* chunks;
    })(),
  );
  source.on("error", (error) => parser.destroy(error));
  source.pipe(parser);
  let row = 0;
  try {
    for await (const { record, raw } of parser as AsyncIterable<{
      record: string[];
      raw: string;
    }>) {
      row++;
      if (hasOpenQuote(record, raw, delimiter))
        throw new CsvRefused(`row ${row}: a quote is not closed`);
      yield record;
    }
  } catch (error) {
    // Rows before the error that were not read yet are lost, because only the parser knows its position.
    throw error instanceof CsvError
      ? new CsvRefused(reasonOf(error, parser.info.records + 1))
      : error;
  }
}

function reasonOf(error: CsvError, row: number): string {
  switch (error.code) {
    case "CSV_QUOTE_NOT_CLOSED":
      return `row ${row}: a quote is never closed`;
    case "CSV_MAX_RECORD_SIZE":
      return `row ${row}: has more than ${record_characters_max} characters; is a quote not closed?`;
    default:
      return `row ${row}: is not valid CSV`;
  }
}

/** Refuses text with characters that no CSV contains. */
function* checkedText(fd: number, encoding: Encoding): Generator<string> {
  // Windows-1252 is only a guess for text that is not UTF-8.
  // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
  const foreign = encoding === "win1252" ? /[\0-\x08\x0e-\x1f]/ : /\0/;
  let line_characters = 0;
  for (const text of readText(fd, encoding)) {
    if (foreign.test(text)) throw new CsvRefused("is not a CSV text file");
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r"));
    line_characters = end < 0 ? line_characters + text.length : text.length - end - 1;
    // The parser does not limit delimiters: millions of empty cells would fill the memory.
    if (line_characters > record_characters_max)
      throw new CsvRefused(`has a line of more than ${record_characters_max} characters`);
    yield text;
  }
}

/** Returns the most frequent of comma, semicolon and tab in the header, outside quotes. */
function delimiterOf(text: string): string {
  const header = text.replaceAll(/"[^"]*"/g, "").split(/[\r\n]/, 1)[0]!;
  const count = (sign: string) => header.split(sign).length;
  return [";", "\t"].reduce((best, sign) => (count(sign) > count(best) ? sign : best), ",");
}
