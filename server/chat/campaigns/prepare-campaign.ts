// Reads the body of a campaign before anything else is known of it: validates the shape of its
// contacts and gathers its recipients, ready to be stored. Large bodies are read in a thread of their own.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Caller } from "../../accounts/caller.ts";
import { Refusal, unavailable } from "../../lib/errors.ts";
import { openSlots } from "../../lib/slots.ts";
import type { BodyThreadData, BodyThreadMessage } from "./intake/body-thread.ts";
import { readBody, type BodyReading } from "./intake/read-body.ts";

/** A body that was read. `head` is the body without its contacts, of any shape. */
export type PreparedCampaign = BodyReading;

/** A body of so many bytes costs the server's thread a few milliseconds. */
const small_bytes_max = 262_144;
/** Each that waits holds its body. */
const threads = openSlots(2, 4);
const heap_mb_max = 512;
const seconds_max = 60;

/**
 * Reads a body for an account; its bytes may be gone afterwards. With `listed`, the recipients come
 * as they are; otherwise many come as lines of COPY. Throws what parseJsonBody throws; 503 when too
 * many large bodies are being read. What is wrong with the contacts' shape is in `violations`.
 */
export async function prepareCampaign(
  body: Buffer,
  account: Pick<Caller["account"], "id" | "chat_valid_numbers_only">,
  { listed = false }: { readonly listed?: boolean } = {},
): Promise<PreparedCampaign> {
  const options = { account_id: account.id, valid_only: account.chat_valid_numbers_only };
  if (body.length <= small_bytes_max) return readBody(body, { ...options, form: "rows" });
  const form = listed ? "rows" : "lines";
  return threads.use(() => readInThread({ ...options, form, body: ownBytes(body) }));
}

/** A buffer may be part of a shared one, which cannot be handed over. */
function ownBytes(body: Buffer): Uint8Array {
  return body.length === body.buffer.byteLength ? body : Uint8Array.from(body);
}

async function readInThread(data: BodyThreadData): Promise<PreparedCampaign> {
  const thread = new Worker(new URL("./intake/body-thread.ts", import.meta.url), {
    workerData: data,
    transferList: [data.body.buffer as ArrayBuffer],
    resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
  });
  try {
    const signal = AbortSignal.timeout(seconds_max * 1_000);
    const [message] = (await once(thread, "message", { signal })) as [BodyThreadMessage];
    if (message.kind === "read") return message.reading;
    const { type, detail, errors } = message;
    throw new Refusal(type, detail, errors ? { errors } : {});
  } catch (error) {
    throw (error as Error).name === "AbortError" ? unavailable(error) : error;
  } finally {
    await thread.terminate();
  }
}
