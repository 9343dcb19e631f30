// The thread that reads one large body and ends: what it needed is freed with it. It loads little, so
// that it starts soon.
import { parentPort, workerData } from "node:worker_threads";
import { Refusal, type FieldError, type RefusalType } from "../../../lib/errors.ts";
import { gatherRecipients, type Recipients } from "./gather-recipients.ts";
import { readBody, type BodyReading } from "./read-body.ts";

/** What the thread is started with. */
export type BodyThreadData = {
  readonly body: Uint8Array;
  readonly account_id: number;
  readonly valid_only: boolean;
  /** As lines of COPY, or as they are. */
  readonly form: Recipients["form"];
};

/** The one thing it tells. */
export type BodyThreadMessage =
  | { kind: "read"; reading: BodyReading; recipients: Recipients }
  | {
      kind: "refused";
      type: RefusalType;
      detail: string;
      errors: readonly FieldError[] | undefined;
    };

const port = parentPort!;
const { body, account_id, ...options } = workerData as BodyThreadData;
try {
  let gathering = gatherRecipients(options.form, account_id);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const reading = readBody(
    bytes,
    options,
    () => (gathering = gatherRecipients(options.form, account_id)).sink,
  );
  const recipients = gathering.end();
  const lists = recipients.form === "lines" ? recipients.chunks : [];
  tell(
    { kind: "read", reading, recipients },
    lists.map(({ buffer }) => buffer as ArrayBuffer),
  );
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  tell({ kind: "refused", type: error.type, detail: error.message, errors: error.errors }, []);
}

function tell(message: BodyThreadMessage, transfer: ArrayBuffer[]): void {
  port.postMessage(message, transfer);
}
