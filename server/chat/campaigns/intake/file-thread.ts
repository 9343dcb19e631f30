// The thread that turns an uploaded file into recipients: the parsing of a large file never holds up
// the server, and it stays only a few messages ahead of the database.
import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { openPhoneReader } from "../../../lib/chat-phone-numbers.ts";
import { cellText } from "../../../lib/csv/cell-text.ts";
import type { LineThreadMessage, LineThreadOrder } from "../../../lib/csv/open-line-thread.ts";
import { CsvRefused, readCsv } from "../../../lib/csv/read-csv.ts";
import { stayAhead } from "../../../lib/csv/stay-ahead.ts";
import { recipients_max } from "./limits.ts";
import { openLineWriter } from "./recipient-lines.ts";
import { openTrimming, type NumberCounts } from "./trim-numbers.ts";

/** What the thread is started with. */
export type FileThreadData = {
  readonly fd: number;
  readonly account_id: number;
  readonly valid_only: boolean;
};

/** Which columns of the file hold what. */
export type FileColumns = {
  readonly phone: number;
  readonly variables: readonly { readonly name: string; readonly at: number }[];
};

const port = parentPort!;
const { fd, account_id, valid_only } = workerData as FileThreadData;
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
  const [order] = (await once(port, "message")) as [LineThreadOrder<FileColumns>];
  if (order.kind !== "terms") return;
  const { phone, variables } = order.terms;
  const named = variables.map(({ name, at }) => ({ name: `${jsonText(name)}:`, at }));
  const trimming = openTrimming(openPhoneReader({ valid_only }));
  const writer = openLineWriter(account_id);
  const taken = stayAhead(port);
  const send = async (lines: Uint8Array | null) => {
    if (!lines) return;
    tell({ kind: "lines", lines, told: trimming.counts() }, [lines.buffer as ArrayBuffer]);
    await taken();
  };
  for await (const { cells } of rows) {
    const digits = trimming.take(cellText(cells[phone]));
    if (digits === null) continue;
    writer.add(digits, variablesOf(cells, named));
    const lines = writer.take();
    if (lines) await send(lines);
  }
  await send(writer.take(true));
  tell({ kind: "end", told: trimming.counts() }, []);
}

/** As JSON text; an empty cell is no value, so that the message's default stands in. */
function variablesOf(
  cells: readonly string[],
  named: readonly { readonly name: string; readonly at: number }[],
): string | null {
  let text = "";
  for (const { name, at } of named) {
    const value = cellText(cells[at]);
    if (value !== "") text += `${text === "" ? "{" : ","}${name}${jsonText(value)}`;
  }
  return text === "" ? null : `${text}}`;
}

/** A file in UTF-16 may hold halves of characters, which the database would refuse. */
function jsonText(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

function tell(message: LineThreadMessage<NumberCounts>, transfer: ArrayBuffer[]): void {
  port.postMessage(message, transfer);
}
