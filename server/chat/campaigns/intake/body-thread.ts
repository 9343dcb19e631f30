// The thread that reads one large body and ends, which frees its memory. It loads few modules, so
// that it starts fast.
import { parentPort, workerData } from "node:worker_threads";
import { Refusal, type FieldError, type RefusalType } from "../../../lib/errors.ts";
import { readBody, type CampaignBody } from "./read-body.ts";
import type { ContactsOptions } from "./read-contacts.ts";

/** The thread's input. */
export type BodyThreadData = ContactsOptions & { readonly body: Uint8Array };

/** The thread's only message. */
export type BodyThreadMessage =
  | { kind: "read"; body: CampaignBody }
  | {
      kind: "refused";
      type: RefusalType;
      detail: string;
      errors: readonly FieldError[] | undefined;
    };

const { body: bytes, ...options } = workerData as BodyThreadData;
try {
  const body = readBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), options);
  const { recipients } = body;
  const lists = recipients.form === "lines" ? recipients.chunks : [];
  send(
    { kind: "read", body },
    lists.map(({ buffer }) => buffer as ArrayBuffer),
  );
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  send({ kind: "refused", type: error.type, detail: error.message, errors: error.errors }, []);
}

function send(message: BodyThreadMessage, transfer: ArrayBuffer[]): void {
  parentPort!.postMessage(message, transfer);
}
