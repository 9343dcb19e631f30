// The thread that turns an uploaded file into rows for COPY: the parsing of a large file never
// holds up the server. It stays at most a few messages ahead of the database.
import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { copyLine } from "./copy-line.ts";
import { CsvRefused, readCsv } from "./read-csv.ts";
import { stayAhead } from "./stay-ahead.ts";

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

const message_bytes = 65_536;

const encoder = new TextEncoder();

const port = parentPort!;
const { fd, rows_max } = workerData as CsvThreadData;
try {
  await run();
} catch (error) {
  if (!(error instanceof CsvRefused)) throw error;
  tell({ kind: "refused", reason: error.message });
}
port.close();

async function run(): Promise<void> {
  const { header, rows: records } = await readCsv(fd, rows_max);
  tell({ kind: "header", header });
  const [order] = (await once(port, "message")) as [CsvThreadOrder];
  if (order.kind !== "go") return;

  const taken = stayAhead(port);
  let lines = "";
  const send = async () => {
    // An encoder's array is its own; a Buffer may be a part of a shared pool, which cannot be handed over.
    tell({ kind: "rows", lines: encoder.encode(lines) });
    lines = "";
    await taken();
  };

  let rows = 0;
  for await (const { row_number, cells } of records) {
    rows++;
    lines += copyLine(order.first_columns, row_number, cells);
    if (lines.length >= message_bytes) await send();
  }
  if (rows === 0) throw new CsvRefused("has no rows below its header");
  if (lines !== "") await send();
  tell({ kind: "end", rows });
}

function tell(message: CsvThreadMessage): void {
  const transfer = message.kind === "rows" ? [message.lines.buffer as ArrayBuffer] : [];
  port.postMessage(message, transfer);
}
