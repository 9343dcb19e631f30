import { on } from "node:events";
import { Worker } from "node:worker_threads";
import { invalidField } from "../../lib/errors.ts";
import type {
  FileColumns,
  FileThreadData,
  FileThreadMessage,
  FileThreadOrder,
} from "./file-thread.ts";
import type { NumberCounts } from "./trim-numbers.ts";

const heap_mb_max = 256;

/** An uploaded file that is being read in a thread of its own. */
export type RecipientFile = {
  readonly header: readonly string[];
  /** Lines for COPY and what became of the numbers so far; once. The file may still be refused. */
  lines(columns: FileColumns): AsyncGenerator<Uint8Array>;
  counts(): NumberCounts;
  /** Resolves when the thread is gone: the file may be closed after it. */
  close(): Promise<void>;
};

/** Reads the header of an open file. Refuses what is no CSV or has too many rows, on `file`. */
export async function openRecipientFile(
  data: FileThreadData,
  seconds_max: number,
): Promise<RecipientFile> {
  const thread = new Worker(new URL("./file-thread.ts", import.meta.url), {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
  });
  const close = async () => void (await thread.terminate());
  const order = (message: FileThreadOrder) => thread.postMessage(message, []);
  const messages = on(thread, "message", {
    close: ["exit"],
    signal: AbortSignal.timeout(seconds_max * 1_000),
  }) as AsyncIterableIterator<[FileThreadMessage]>;
  const next = async (): Promise<Exclude<FileThreadMessage, { kind: "refused" }>> => {
    const result = await messages.next();
    if (result.done === true) throw new Error("the thread that reads the recipients ended early");
    const [message] = result.value;
    if (message.kind === "refused") throw invalidField("file", message.reason);
    return message;
  };
  let counts: NumberCounts = { valid: 0, invalid: 0, duplicate: 0 };
  try {
    const first = await next();
    if (first.kind !== "header") throw new Error("the thread did not begin with the header");
    return {
      header: first.header,
      async *lines(columns) {
        order({ kind: "columns", columns });
        for (;;) {
          const message = await next();
          if (message.kind === "header") continue;
          counts = message.counts;
          if (message.kind === "end") return;
          yield message.lines;
          order({ kind: "taken" });
        }
      },
      counts: () => counts,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
