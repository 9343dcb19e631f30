// Reads an uploaded CSV file in its own thread, which produces lines for COPY.
import { on } from "node:events";
import { Worker } from "node:worker_threads";
import { invalidField } from "../errors.ts";

const heap_mb_max = 256;

/** The thread's input: an open file, and the limit of its rows. */
export type LineThreadData = { readonly fd: number; readonly rows_max: number };

/** The thread's messages: the header, then (once it has the terms) lines for COPY, then how it ended. */
export type LineThreadMessage<Progress> =
  | { kind: "header"; header: string[] }
  | { kind: "lines"; lines: Uint8Array; progress: Progress }
  | { kind: "end"; progress: Progress }
  | { kind: "refused"; reason: string };

/** Messages to the thread: the terms, then one `taken` per message of lines. */
export type LineThreadOrder<Terms> = { kind: "terms"; terms: Terms } | { kind: "taken" };

/** A file that is being read. */
export type LineThread<Terms, Progress> = {
  readonly header: string[];
  /** Returns lines for COPY; callable once. The file may still be refused. */
  lines(terms: Terms): AsyncGenerator<Uint8Array>;
  /** Returns what the thread reported with the last lines; null before the first. */
  progress(): Progress | null;
  /** Resolves when the thread has exited and the file may be closed. */
  close(): Promise<void>;
};

/**
 * Starts a thread that runs runLineThread, and reads the file's header. Throws a violation of `file` for
 * invalid CSV or too many rows. The whole file may take `seconds_max`.
 */
export async function openLineThread<Terms, Progress>(
  module: URL,
  data: LineThreadData,
  seconds_max: number,
): Promise<LineThread<Terms, Progress>> {
  const thread = new Worker(module, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
  });
  const close = async () => void (await thread.terminate());
  const order = (message: LineThreadOrder<Terms>) => thread.postMessage(message, []);
  const messages = on(thread, "message", {
    close: ["exit"],
    signal: AbortSignal.timeout(seconds_max * 1_000),
  }) as AsyncIterableIterator<[LineThreadMessage<Progress>]>;
  const next = async (): Promise<Exclude<LineThreadMessage<Progress>, { kind: "refused" }>> => {
    const result = await messages.next();
    if (result.done === true) throw new Error("the thread that reads the CSV ended early");
    const [message] = result.value;
    if (message.kind === "refused") throw invalidField("file", message.reason);
    return message;
  };
  let progress: Progress | null = null;
  try {
    const first = await next();
    if (first.kind !== "header") throw new Error("the thread did not send the header first");
    return {
      header: first.header,
      async *lines(terms) {
        order({ kind: "terms", terms });
        for (;;) {
          const message = await next();
          if (message.kind === "header") continue;
          ({ progress } = message);
          if (message.kind === "end") return;
          yield message.lines;
          order({ kind: "taken" });
        }
      },
      progress: () => progress,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
