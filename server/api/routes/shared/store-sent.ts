import type { RequestContext } from "../../route.ts";

/**
 * Stores the response of a request that has sent a message, if it has an Idempotency-Key, and returns it. A failure is
 * logged only, because a client that gets an error sends the message again; a repetition of the key is then a 409.
 */
export async function storeSent<Answer>(
  { app, keyed, write }: RequestContext<unknown, unknown, unknown>,
  answer: Answer,
): Promise<Answer> {
  if (!keyed) return answer;
  try {
    return await write(async () => answer);
  } catch (err) {
    app.log.warn({ err }, "could not store the response of a message that was sent");
    return answer;
  }
}
