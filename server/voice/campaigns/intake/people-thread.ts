// The thread that turns an uploaded file into recipients: the parsing of a large file never holds up
// the server, and it stays only a few messages ahead of the database.
import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { cellText } from "../../../lib/csv/cell-text.ts";
import type { LineThreadMessage, LineThreadOrder } from "../../../lib/csv/open-line-thread.ts";
import { CsvRefused, readCsv } from "../../../lib/csv/read-csv.ts";
import { stayAhead } from "../../../lib/csv/stay-ahead.ts";
import { tenDigits } from "../../../lib/phone-numbers.ts";
import { recipients_max } from "./limits.ts";
import { openIntake, type IntakeCounts, type Rejects } from "./open-intake.ts";
import { openLineSink, openPhoneSink, type RecipientTerms } from "./sinks.ts";

/** What the thread is started with. */
export type PeopleThreadData = { readonly fd: number };

/** Where a variable's values stand. */
export type VariableColumn = {
  readonly name: string;
  readonly at: number;
  /** Whoever has no value is left out. */
  readonly required: boolean;
};

/** What is to be made of the rows. */
export type PeopleThreadTerms = {
  readonly country_code: string;
  readonly number_at: number;
  readonly variables: readonly VariableColumn[];
  /** Null: only their phones are wanted. */
  readonly recipients: RecipientTerms | null;
};

/** What became of the rows; the rejects are told at the end. */
export type PeopleThreadTold = IntakeCounts & { readonly rejects?: Rejects };

const port = parentPort!;
const { fd } = workerData as PeopleThreadData;
try {
  await run();
} catch (error) {
  if (!(error instanceof CsvRefused)) throw error;
  tell({ kind: "refused", reason: error.message }, []);
}
port.close();

async function run(): Promise<void> {
  const { header, rows } = await readCsv(fd, recipients_max);
  tell({ kind: "header", header }, []);
  const [order] = (await once(port, "message")) as [LineThreadOrder<PeopleThreadTerms>];
  if (order.kind !== "terms") return;
  const { country_code, number_at, variables, recipients } = order.terms;
  const named = variables.map((column) => ({ ...column, json: `${jsonText(column.name)}:` }));
  const sink = recipients ? openLineSink(recipients) : openPhoneSink();
  const intake = openIntake(sink);
  const taken = stayAhead(port);
  const send = async (lines: Uint8Array | null) => {
    if (!lines) return;
    tell({ kind: "lines", lines, told: intake.counts() }, [lines.buffer as ArrayBuffer]);
    await taken();
  };
  for await (const { row_number: row, cells } of rows) {
    const value = cellText(cells[number_at]);
    const number = tenDigits(value, country_code);
    const phone = number === null ? null : country_code + number;
    intake.take({ row, value, phone, number: number ?? "", ...valuesOf(cells, named) });
    const lines = sink.take();
    if (lines) await send(lines);
  }
  await send(sink.take(true));
  tell({ kind: "end", told: { ...intake.counts(), rejects: intake.rejects() } }, []);
}

/** Variables as JSON text; an empty cell is no value, so that the default stands in. */
function valuesOf(
  cells: readonly string[],
  named: readonly (VariableColumn & { readonly json: string })[],
): { variables: string | null; missing: string | null } {
  let text = "";
  let missing: string | null = null;
  for (const { name, at, required, json } of named) {
    const value = cellText(cells[at]);
    if (value !== "") text += `${text === "" ? "{" : ","}${json}${jsonText(value)}`;
    else if (required) missing ??= name;
  }
  return { variables: text === "" ? null : `${text}}`, missing };
}

/** A file in UTF-16 may hold halves of characters, which the database would refuse. */
function jsonText(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

function tell(message: LineThreadMessage<PeopleThreadTold>, transfer: ArrayBuffer[]): void {
  port.postMessage(message, transfer);
}
