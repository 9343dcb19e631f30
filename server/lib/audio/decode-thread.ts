// The thread that decodes one file, so that a malicious file can break nothing else.
import { parentPort, workerData } from "node:worker_threads";
import { AudioError } from "./audio-error.ts";
import { decodeFile } from "./decode-file.ts";
import type { AudioKind } from "./sniff-audio.ts";

/** The input of the thread. */
export type DecodeThreadData = {
  readonly file: Uint8Array;
  readonly kind: AudioKind;
  readonly duration_ms_max: number;
};

/** The only message of the thread. */
export type DecodeThreadMessage =
  | { readonly kind: "decoded"; readonly samples: Uint8Array<ArrayBuffer> }
  | { readonly kind: "rejected"; readonly reason: string };

const port = parentPort!;
const { file, kind, duration_ms_max } = workerData as DecodeThreadData;
try {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const samples = new Uint8Array(await decodeFile(bytes, kind, duration_ms_max));
  send({ kind: "decoded", samples });
} catch (error) {
  if (!(error instanceof AudioError)) throw error;
  send({ kind: "rejected", reason: error.message });
}
port.close();

function send(message: DecodeThreadMessage): void {
  port.postMessage(message, message.kind === "decoded" ? [message.samples.buffer] : []);
}
