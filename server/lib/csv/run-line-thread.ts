// The thread's side of openLineThread: the parsing of a large file never blocks the server, and it
// stays only a few messages ahead of the database.
import { once } from "node:events";
import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import type { LineThreadData, LineThreadMessage, LineThreadOrder } from "./open-line-thread.ts";
import { CsvRefused, readCsv, type CsvRow } from "./read-csv.ts";
import { stayAhead } from "./stay-ahead.ts";

/** Turns rows into lines of COPY. */
export type LineMaker<Progress> = {
  add(row: CsvRow): void;
  /** The lines since the last call once they are many, or in any case with `all`; else null. */
  take(all?: boolean): Uint8Array | null;
  /** Describes the rows so far; `ended` with the last of them. */
  progress(ended: boolean): Progress;
};

/** Runs a thread that openLineThread started: `open` gets the terms as `lines` was given them. */
export async function runLineThread<Progress>(
  open: (terms: never) => LineMaker<Progress>,
): Promise<void> {
  const port = parentPort!;
  try {
    await sendLines(port, open);
  } catch (error) {
    if (!(error instanceof CsvRefused)) throw error;
    port.postMessage({ kind: "refused", reason: error.message } satisfies LineThreadMessage<never>);
  }
  port.close();
}

async function sendLines<Progress>(
  port: MessagePort,
  open: (terms: never) => LineMaker<Progress>,
): Promise<void> {
  const send = (message: LineThreadMessage<Progress>, transfer: ArrayBuffer[] = []) =>
    port.postMessage(message, transfer);
  const { fd, rows_max } = workerData as LineThreadData;
  const { header, rows } = await readCsv(fd, rows_max);
  send({ kind: "header", header });
  const [order] = (await once(port, "message")) as [LineThreadOrder<never>];
  if (order.kind !== "terms") return;
  const maker = open(order.terms);
  const taken = stayAhead(port);
  const sendChunk = async (lines: Uint8Array | null) => {
    if (!lines) return;
    const progress = maker.progress(false);
    send({ kind: "lines", lines, progress }, [lines.buffer as ArrayBuffer]);
    await taken();
  };
  for await (const row of rows) {
    maker.add(row);
    const lines = maker.take();
    if (lines) await sendChunk(lines);
  }
  await sendChunk(maker.take(true));
  send({ kind: "end", progress: maker.progress(true) });
}
