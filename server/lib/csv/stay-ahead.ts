import type { MessagePort } from "node:worker_threads";

const messages_ahead_max = 8;

/**
 * Keeps a thread from running away from its reader, who answers every message once it is taken. The
 * function returned is called after each message sent, and resolves when the next one may go.
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
