// Reads an uploaded CSV file in a thread of its own, which makes lines for COPY of it.
import { on } from "node:events";
import { Worker } from "node:worker_threads";
import { invalidField } from "../errors.ts";

const heap_mb_max = 256;

/** Such a thread tells the header, then (once it was told the terms) lines for COPY, then how it ended. */
export type LineThreadMessage<Told> =
  | { kind: "header"; header: string[] }
  | { kind: "lines"; lines: Uint8Array; told: Told }
  | { kind: "end"; told: Told }
  | { kind: "refused"; reason: string };

/** It is told the terms, then one `taken` per message of lines. */
export type LineThreadOrder<Terms> = { kind: "terms"; terms: Terms } | { kind: "taken" };

/** A file that is being read. */
export type LineThread<Terms, Told> = {
  readonly header: readonly string[];
  /** Lines for COPY; once. The file may still be refused. */
  lines(terms: Terms): AsyncGenerator<Uint8Array>;
  /** What became of the rows so far; null before the first lines. */
  told(): Told | null;
  /** Resolves when the thread is gone: the file may be closed after it. */
  close(): Promise<void>;
};

/**
 * Starts the thread on an open file (workerData `data`) and reads its header. Refuses what is no CSV or
 * has too many rows, on `file`. All of it may take `seconds_max`.
 */
export async function openLineThread<Terms, Told>(
  module: URL,
  data: { readonly fd: number },
  seconds_max: number,
): Promise<LineThread<Terms, Told>> {
  const thread = new Worker(module, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
  });
  const close = async () => void (await thread.terminate());
  const order = (message: LineThreadOrder<Terms>) => thread.postMessage(message, []);
  const messages = on(thread, "message", {
    close: ["exit"],
    signal: AbortSignal.timeout(seconds_max * 1_000),
  }) as AsyncIterableIterator<[LineThreadMessage<Told>]>;
  const next = async (): Promise<Exclude<LineThreadMessage<Told>, { kind: "refused" }>> => {
    const result = await messages.next();
    if (result.done === true) throw new Error("the thread that reads the recipients ended early");
    const [message] = result.value;
    if (message.kind === "refused") throw invalidField("file", message.reason);
    return message;
  };
  let told: Told | null = null;
  try {
    const first = await next();
    if (first.kind !== "header") throw new Error("the thread did not begin with the header");
    return {
      header: first.header,
      async *lines(terms) {
        order({ kind: "terms", terms });
        for (;;) {
          const message = await next();
          if (message.kind === "header") continue;
          ({ told } = message);
          if (message.kind === "end") return;
          yield message.lines;
          order({ kind: "taken" });
        }
      },
      told: () => told,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
