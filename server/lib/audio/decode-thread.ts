// The thread that decodes one file: sound that is broken on purpose breaks nothing but this.
import { parentPort, workerData } from "node:worker_threads";
import { AudioRefused } from "./audio-refused.ts";
import { decodeFile } from "./decode-file.ts";
import type { AudioKind } from "./sniff-audio.ts";

/** What the thread is started with. */
export type DecodeThreadData = {
  readonly file: Uint8Array;
  readonly kind: AudioKind;
  readonly duration_ms_max: number;
};

/** What it tells, once. */
export type DecodeThreadMessage =
  | { readonly kind: "decoded"; readonly samples: Uint8Array<ArrayBuffer> }
  | { readonly kind: "refused"; readonly reason: string };

const port = parentPort!;
const { file, kind, duration_ms_max } = workerData as DecodeThreadData;
try {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const samples = new Uint8Array(await decodeFile(bytes, kind, duration_ms_max));
  tell({ kind: "decoded", samples });
} catch (error) {
  if (!(error instanceof AudioRefused)) throw error;
  tell({ kind: "refused", reason: error.message });
}
port.close();

function tell(message: DecodeThreadMessage): void {
  port.postMessage(message, message.kind === "decoded" ? [message.samples.buffer] : []);
}
