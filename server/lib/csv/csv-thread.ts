// The thread that turns an uploaded file into rows for COPY: the parsing of a large file never
// holds up the server. It stays at most a few messages ahead of the database.
import { once } from "node:events";
import { Readable } from "node:stream";
import { parentPort, workerData } from "node:worker_threads";
import { CsvError, parse } from "csv-parse";
import { cellText } from "./cell-text.ts";
import { copyLine } from "./copy-line.ts";
import { detectEncoding, readText, type Encoding } from "./csv-text.ts";

/** What the thread is started with. */
export type CsvThreadData = { readonly fd: number; readonly rows_max: number };

/** What it tells: the header, then (once it was told the rows' first columns) rows, then how it ended. */
export type CsvThreadMessage =
  | { kind: "header"; header: string[] }
  | { kind: "rows"; lines: Uint8Array }
  | { kind: "end"; rows: number }
  | { kind: "refused"; reason: string };

/** What it is told: the first columns of each COPY line after the header, then one per message taken. */
export type CsvThreadOrder = { kind: "go"; first_columns: string } | { kind: "taken" };

const columns_max = 500;
const record_characters_max = 1_000_000;
/** Empty rows do not count, yet cost as much to read. */
const rows_with_empty_max = 2_000_000;
const message_bytes = 65_536;
const messages_ahead_max = 8;

const encoder = new TextEncoder();

class Refused extends Error {}

const port = parentPort!;
const { fd, rows_max } = workerData as CsvThreadData;
try {
  await run();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  tell({ kind: "refused", reason: error.message });
}
port.close();

async function run(): Promise<void> {
  const encoding = detectEncoding(fd);
  const records = readRecords(encoding);
  const first = await records.next();
  if (first.done) throw new Refused("is empty");
  const header = readHeader(first.value);
  tell({ kind: "header", header });
  const [order] = (await once(port, "message")) as [CsvThreadOrder];
  if (order.kind !== "go") return;

  let ahead = 0;
  let wake = () => {};
  port.on("message", () => {
    ahead--;
    wake();
  });
  let lines = "";
  const send = async () => {
    // An encoder's array is its own; a Buffer may be a part of a shared pool, which cannot be handed over.
    tell({ kind: "rows", lines: encoder.encode(lines) });
    lines = "";
    if (++ahead < messages_ahead_max) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    await promise;
  };

  let rows = 0;
  let row_number = 1;
  for await (const cells of records) {
    if (++row_number > rows_with_empty_max)
      throw new Refused(`has more than ${rows_with_empty_max} rows, the empty ones counted`);
    // A spreadsheet counts an empty line as a row, and nobody means it as one.
    if (cells.every((cell) => cell.trim() === "")) continue;
    if (++rows > rows_max) throw new Refused(`has more than ${rows_max} rows`);
    if (cells.length > columns_max) throw tooWide(row_number);
    lines += copyLine(order.first_columns, row_number, cells);
    if (lines.length >= message_bytes) await send();
  }
  if (rows === 0) throw new Refused("has no rows below its header");
  if (lines !== "") await send();
  tell({ kind: "end", rows });
}

function tell(message: CsvThreadMessage): void {
  const transfer = message.kind === "rows" ? [message.lines.buffer as ArrayBuffer] : [];
  port.postMessage(message, transfer);
}

function readHeader(cells: string[]): string[] {
  const header = cells.map(cellText);
  while (header.at(-1) === "") header.pop();
  if (header.length === 0) throw new Refused("has no header in its first row");
  if (header.length > columns_max) throw tooWide(1);
  return header;
}

function tooWide(row: number): Refused {
  return new Refused(`row ${row}: has more than ${columns_max} columns`);
}

async function* readRecords(encoding: Encoding): AsyncGenerator<string[]> {
  const chunks = checkedText(encoding);
  const head = chunks.next();
  const text = head.done ? "" : head.value;
  const parser = parse({
    delimiter: delimiterOf(text),
    // A file may be put together from others.
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: record_characters_max,
  });
  const source = Readable.from(
    (function* whole() {
      yield text;
      yield* chunks;
    })(),
  );
  source.on("error", (error) => parser.destroy(error));
  source.pipe(parser);
  let records = 0;
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      records++;
      yield cells;
    }
  } catch (error) {
    throw error instanceof CsvError ? new Refused(reasonOf(error, records + 1)) : error;
  }
}

function reasonOf(error: CsvError, row: number): string {
  switch (error.code) {
    case "CSV_QUOTE_NOT_CLOSED":
      return `row ${row}: a quote is opened and never closed`;
    case "CSV_MAX_RECORD_SIZE":
      return `row ${row}: has more than ${record_characters_max} characters; is a quote not closed?`;
    default:
      return `row ${row}: is not CSV`;
  }
}

/** Text that holds what no CSV holds is some other kind of file. */
function* checkedText(encoding: Encoding): Generator<string> {
  // Windows-1252 is only a guess for what is not UTF-8.
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const foreign = encoding === "win1252" ? /[\0-\x08\x0e-\x1f]/ : /\0/;
  let line_characters = 0;
  for (const text of readText(fd, encoding)) {
    if (foreign.test(text)) throw new Refused("is not a CSV text file");
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r"));
    line_characters = end < 0 ? line_characters + text.length : text.length - end - 1;
    // The parser does not count delimiters: millions of empty cells would fill the memory.
    if (line_characters > record_characters_max)
      throw new Refused(`has a line of more than ${record_characters_max} characters`);
    yield text;
  }
}

/** Of comma, semicolon and tab, the one that the header has most of, outside quotes. */
function delimiterOf(text: string): string {
  const header = text.replaceAll(/"[^"]*"/g, "").split(/[\r\n]/, 1)[0]!;
  const count = (sign: string) => header.split(sign).length;
  return [";", "\t"].reduce((best, sign) => (count(sign) > count(best) ? sign : best), ",");
}
