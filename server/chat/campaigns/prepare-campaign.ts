// Reads the body of a campaign: validates the shape of its contacts and gathers its recipients,
// ready to be stored. A separate thread reads large bodies.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Caller } from "../../accounts/caller.ts";
import { Refusal, unavailable } from "../../lib/errors.ts";
import { openShares } from "../../lib/shares.ts";
import type { BodyThreadData, BodyThreadMessage } from "./intake/body-thread.ts";
import type { RecipientRows } from "./intake/gather-recipients.ts";
import { readBody, type CampaignBody } from "./intake/read-body.ts";

/** Parsing a body of this size takes the main thread a few milliseconds. */
const small_bytes_max = 262_144;
/** One thread of each account; each waiting request holds its body in memory. */
const threads = openShares(2, 1, 4);
const heap_mb_max = 512;
const seconds_max = 60;

type BodyOwner = Pick<Caller["account"], "id" | "chat_valid_numbers_only">;

/**
 * Reads a body for an account; its bytes may be transferred. With `listed`, the recipients are
 * returned as a list; otherwise many are returned as COPY text. Throws as parseJsonBody; 503 when
 * too many large bodies of the account are waiting. Violations of the contacts' shape are in `violations`.
 */
export function prepareCampaign(
  body: Buffer,
  account: BodyOwner,
  options: { readonly listed: true },
): Promise<CampaignBody & { readonly recipients: RecipientRows }>;
export function prepareCampaign(body: Buffer, account: BodyOwner): Promise<CampaignBody>;
export async function prepareCampaign(
  body: Buffer,
  account: BodyOwner,
  { listed = false }: { readonly listed?: boolean } = {},
): Promise<CampaignBody> {
  const options = { account_id: account.id, valid_only: account.chat_valid_numbers_only };
  if (body.length <= small_bytes_max) return readBody(body, { ...options, form: "rows" });
  const form = listed ? "rows" : "lines";
  return threads.use(account.id, () => readInThread({ ...options, form, body: ownBytes(body) }));
}

/** Copies a buffer that is part of a larger ArrayBuffer: only a whole ArrayBuffer is transferable. */
function ownBytes(body: Buffer): Uint8Array {
  return body.length === body.buffer.byteLength ? body : Uint8Array.from(body);
}

async function readInThread(data: BodyThreadData): Promise<CampaignBody> {
  const thread = new Worker(new URL("./intake/body-thread.ts", import.meta.url), {
    workerData: data,
    transferList: [data.body.buffer as ArrayBuffer],
    resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
  });
  try {
    const signal = AbortSignal.timeout(seconds_max * 1_000);
    const [message] = (await once(thread, "message", { signal })) as [BodyThreadMessage];
    if (message.kind === "read") return message.body;
    const { type, detail, errors } = message;
    throw new Refusal(type, detail, errors ? { errors } : {});
  } catch (error) {
    throw (error as Error).name === "AbortError" ? unavailable(error) : error;
  } finally {
    await thread.terminate();
  }
}
