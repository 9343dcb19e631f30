// A callback receiver for tests: an HTTP server on this machine that records the requests.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The `type` of the body, or of the query. */
  readonly type: string;
  /** The `data` of the body; undefined without a body. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read the data of every event
  readonly data: any;
};

export type CallbackReceiver = {
  readonly url: string;
  readonly received: Received[];
  /** Responds to requests, with 204 by default. If it never ends the response, the sender waits. */
  answer: (response: ServerResponse, received: Received) => void;
  close(): Promise<void>;
};

/** Starts a receiver on 127.0.0.1. */
export async function openCallbackReceiver(): Promise<CallbackReceiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const body = text === "" ? null : (JSON.parse(text) as { type: string; data: unknown });
      const path = request.url!;
      const entry = {
        method: request.method!,
        path,
        headers: request.headers,
        text,
        type: body?.type ?? new URL(path, "http://receiver").searchParams.get("type") ?? "",
        data: body?.data,
      };
      received.push(entry);
      receiver.answer(response, entry);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const receiver: CallbackReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer: (response) => void response.writeHead(204).end(),
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return receiver;
}
