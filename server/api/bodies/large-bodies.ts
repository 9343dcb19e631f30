// Bounds the large bodies that a process holds in memory at once, each from when it has arrived until its answer
// is sent. Until then it is in a temporary file.
import type { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal, unavailable } from "../../lib/errors.ts";
import { openShares } from "../../lib/shares.ts";
import { openBodyBudget } from "./body-budget.ts";
import { cutOff } from "./cut-off.ts";
import { counted, isOutOfSpace, openTemporary } from "./spool-file.ts";

const megabyte = 1_048_576;
const bodies_at_once_max = 6;
const bodies_of_account_max = 3;
const bodies_of_account_waiting_max = 6;

/** Bounds the disk space; an account can have nine bodies of the largest size. */
const spool_limits = {
  bodies_max: 1_000,
  bytes_max: 2_048 * megabyte,
  bodies_of_holder_max: bodies_of_account_max + bodies_of_account_waiting_max,
  bytes_of_holder_max: 640 * megabyte,
};

/**
 * Returns a function that receives a large body into a file and returns a stream of that once a slot is free;
 * the slot is released once the answer is sent or the connection is closed. 503 when the account has too many
 * already.
 */
export function openLargeBodies() {
  const spooled = openBodyBudget(spool_limits);
  const bodies = openShares(
    bodies_at_once_max,
    bodies_of_account_max,
    bodies_of_account_waiting_max,
  );
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: Readable,
  ): Promise<Readable> => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    reply.raw.once("close", end);
    if (reply.raw.destroyed) end();
    const account_id = request.caller!.account.id;
    const held = spooled.open(String(account_id), (why) => cutOff(request, why));
    void ended.then(held.release);
    const file = await openTemporary();
    void ended.then(() => file.close()).catch(() => {});
    await file
      .writeFile(limited(counted(payload, held), request.routeOptions.bodyLimit))
      .catch(refused);
    held.arrived();
    const { promise: acquired, resolve: acquire, reject: refuse } = Promise.withResolvers<void>();
    bodies
      .use(account_id, () => {
        acquire();
        return ended;
      })
      .catch(refuse);
    await acquired;
    return file.createReadStream({ start: 0 });
  };
}

function refused(error: unknown): never {
  throw isOutOfSpace(error) ? unavailable(error) : error;
}

async function* limited(chunks: AsyncIterable<Buffer>, bytes_max: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytes_max)
      throw new Refusal("body-too-large", "The body is larger than this endpoint accepts", {
        headers: { connection: "close" },
      });
    yield chunk;
  }
}
