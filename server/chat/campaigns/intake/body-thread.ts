// The thread that reads one large body and ends, which frees its memory. It loads few modules, so
// that it starts fast.
import { parentPort, workerData } from "node:worker_threads";
import { Refusal, type FieldError, type RefusalType } from "../../../lib/errors.ts";
import { readBody, type BodyReading } from "./read-body.ts";
import type { ContactsOptions } from "./read-contacts.ts";

/** The thread's input. */
export type BodyThreadData = ContactsOptions & { readonly body: Uint8Array };

/** The thread's only message. */
export type BodyThreadMessage =
  | { kind: "read"; reading: BodyReading }
  | {
      kind: "refused";
      type: RefusalType;
      detail: string;
      errors: readonly FieldError[] | undefined;
    };

const { body, ...options } = workerData as BodyThreadData;
try {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const reading = readBody(bytes, options);
  const { recipients } = reading;
  const lists = recipients.form === "lines" ? recipients.chunks : [];
  send(
    { kind: "read", reading },
    lists.map(({ buffer }) => buffer as ArrayBuffer),
  );
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  send({ kind: "refused", type: error.type, detail: error.message, errors: error.errors }, []);
}

function send(message: BodyThreadMessage, transfer: ArrayBuffer[]): void {
  parentPort!.postMessage(message, transfer);
}
