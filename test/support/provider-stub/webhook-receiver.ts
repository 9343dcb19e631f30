// Receives the stub's webhooks in driver tests: keeps each body and responds.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type ReceivedWebhook = { readonly raw: Buffer; readonly signature: string | undefined };

export type WebhookReceiver = {
  readonly url: string;
  readonly received: readonly ReceivedWebhook[];
  /** Returns the parsed bodies. */
  bodies(): unknown[];
  close(): Promise<void>;
};

/** Starts the receiver; `answer` returns the status of each response, 200 by default. */
export async function startWebhookReceiver(
  answer: (webhook: ReceivedWebhook) => number = () => 200,
): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const signature = request.headers["x-hub-signature-256"];
      const webhook = {
        raw: Buffer.concat(chunks),
        signature: typeof signature === "string" ? signature : undefined,
      };
      received.push(webhook);
      response.writeHead(answer(webhook));
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received,
    bodies: () => received.map(({ raw }) => JSON.parse(raw.toString())),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
