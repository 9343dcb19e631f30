// Bounds the large bodies that a process holds in memory at once, each until its answer is sent.
import type { FastifyReply, FastifyRequest } from "fastify";
import { openShares } from "../../lib/shares.ts";

/** Bodies up to the limit of every other route are not counted. */
const small_bytes_max = 1_048_576;
const bodies_at_once_max = 6;
const bodies_of_account_max = 3;
const bodies_of_account_waiting_max = 6;

/**
 * A hook that delays reading a large body until a slot is free; the slot is released once the answer is sent
 * or the connection is closed. 503 when too many requests of the account wait.
 */
export function openLargeBodies() {
  const bodies = openShares(
    bodies_at_once_max,
    bodies_of_account_max,
    bodies_of_account_waiting_max,
  );
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const bytes = Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY);
    if (bytes <= small_bytes_max || !request.caller) return;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    reply.raw.once("close", end);
    if (reply.raw.destroyed) end();
    const { promise: acquired, resolve: acquire, reject: refuse } = Promise.withResolvers<void>();
    bodies
      .use(request.caller.account.id, () => {
        acquire();
        return ended;
      })
      .catch(refuse);
    await acquired;
  };
}
