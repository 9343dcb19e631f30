// Bounds the large bodies that a process holds at once: each is kept whole until its answer is sent.
import type { FastifyReply, FastifyRequest } from "fastify";
import { openShares } from "../lib/shares.ts";

/** Up to this a body costs no more than the requests of every other route. */
const small_bytes_max = 1_048_576;
const bodies_at_once_max = 6;
const bodies_of_account_max = 3;
const bodies_of_account_waiting_max = 6;

/**
 * A hook that lets a request with a large body wait, unread, until there is room for it; the room is
 * free again once the answer is sent or the connection is gone. 503 when too many of the account wait.
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
    const { promise: taken, resolve: take, reject: refuse } = Promise.withResolvers<void>();
    bodies
      .use(request.caller.account.id, () => {
        take();
        return ended;
      })
      .catch(refuse);
    await taken;
  };
}
