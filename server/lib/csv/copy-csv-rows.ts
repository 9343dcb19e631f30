// Streams the rows of an uploaded CSV file into a table, parsed in a thread of its own.
import { on } from "node:events";
import { Worker } from "node:worker_threads";
import type pg from "pg";
import { invalidField } from "../errors.ts";
import { openCopy, type Copy } from "../database/open-copy.ts";
import type { CsvThreadData, CsvThreadMessage, CsvThreadOrder } from "./csv-thread.ts";

const heap_mb_max = 256;

/**
 * Reads the open file from its start and returns the number of rows stored by `copy_sql`, a COPY
 * whose last two columns are the row's number in the file and its cells. `onHeader` may refuse the
 * header, and returns the values of the columns before those (ids, no text to escape). Refuses what
 * is no CSV or has too many rows, on `file`. Whatever it throws, the caller must roll back.
 */
export async function copyCsvRows(
  client: pg.PoolClient,
  file: CsvThreadData & { readonly copy_sql: string; readonly seconds_max: number },
  onHeader: (header: string[]) => Promise<readonly number[]>,
): Promise<number> {
  const { copy_sql, seconds_max, ...workerData } = file;
  const thread = new Worker(new URL("./csv-thread.ts", import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
  });
  const order = (message: CsvThreadOrder) => thread.postMessage(message, []);
  let copy: Copy | null = null;
  try {
    const messages = on(thread, "message", {
      close: ["exit"],
      signal: AbortSignal.timeout(seconds_max * 1_000),
    }) as AsyncIterable<[CsvThreadMessage]>;
    for await (const [message] of messages) {
      switch (message.kind) {
        case "refused":
          throw invalidField("file", message.reason);
        case "header": {
          const first_columns = (await onHeader(message.header)).join("\t");
          copy = openCopy(client, copy_sql, seconds_max);
          order({ kind: "go", first_columns });
          break;
        }
        case "rows":
          await copy!.write(message.lines);
          order({ kind: "taken" });
          break;
        case "end":
          await copy!.end();
          return message.rows;
      }
    }
    throw new Error("the thread that parses the CSV ended early");
  } finally {
    await copy?.abandon();
    // Resolves when the thread is gone: the file may be closed after it.
    await thread.terminate();
  }
}
