import type { MessagePort } from "node:worker_threads";

const messages_ahead_max = 8;

/**
 * Limits how far a thread gets ahead of its reader, which acknowledges every message. Call the returned function
 * after each message; it resolves when the next one may be sent.
 */
export function stayAhead(port: MessagePort): () => Promise<void> {
  let ahead = 0;
  let wake = () => {};
  port.on("message", () => {
    ahead--;
    wake();
  });
  return async () => {
    if (++ahead < messages_ahead_max) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    await promise;
  };
}
