// The thread's side of openLineThread: parsing never blocks the server, and the thread stays only a few
// messages ahead of the database.
import { once } from "node:events";
import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { CsvRefused } from "./csv-refused.ts";
import type { LineThreadData, LineThreadMessage, LineThreadOrder } from "./open-line-thread.ts";
import { readCsv, type CsvRow } from "./read-csv.ts";
import { stayAhead } from "./stay-ahead.ts";

/** Converts rows to lines of COPY. */
export type LineWriter<Progress> = {
  add(row: CsvRow): void;
  /** Returns the lines since the last call if they are many, or always with `all`; else null. */
  take(all?: boolean): Uint8Array | null;
  /** Describes the rows so far; `ended` with the last of them. */
  progress(ended: boolean): Progress;
};

/** Opens the writer of a thread with the terms given to `lines` and the number of cells of the header's row. */
type OpenWriter<Progress> = (terms: never, width: number) => LineWriter<Progress>;

/** Runs a thread that openLineThread started. */
export async function runLineThread<Progress>(open: OpenWriter<Progress>): Promise<void> {
  const port = parentPort!;
  try {
    await sendLines(port, open);
  } catch (error) {
    if (!(error instanceof CsvRefused)) throw error;
    port.postMessage({ kind: "refused", reason: error.message } satisfies LineThreadMessage<never>);
  }
  port.close();
}

async function sendLines<Progress>(port: MessagePort, open: OpenWriter<Progress>): Promise<void> {
  const send = (message: LineThreadMessage<Progress>, transfer: ArrayBuffer[] = []) =>
    port.postMessage(message, transfer);
  const { fd, rows_max } = workerData as LineThreadData;
  const { header, width, rows } = await readCsv(fd, rows_max);
  send({ kind: "header", header });
  const [order] = (await once(port, "message")) as [LineThreadOrder<never>];
  if (order.kind !== "terms") return;
  const writer = open(order.terms, width);
  const taken = stayAhead(port);
  const sendChunk = async (lines: Uint8Array | null) => {
    if (!lines) return;
    const progress = writer.progress(false);
    send({ kind: "lines", lines, progress }, [lines.buffer as ArrayBuffer]);
    await taken();
  };
  for await (const row of rows) {
    writer.add(row);
    const lines = writer.take();
    if (lines) await sendChunk(lines);
  }
  await sendChunk(writer.take(true));
  send({ kind: "end", progress: writer.progress(true) });
}
