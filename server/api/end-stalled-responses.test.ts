import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { startApi } from "../../test/support/api.ts";
import { eventually } from "../../test/support/eventually.ts";
import { rawRequest } from "../../test/support/raw-http.ts";
import { publicRoute } from "./route.ts";

/** More than the socket buffers of both sides. */
const whole = Buffer.alloc(64 * 1_048_576);

/** A route that answers with bytes. */
function bytesRoute(url: string, handle: () => Promise<Readable | Buffer>) {
  return publicRoute({
    method: "GET",
    url,
    id: url.slice(1),
    summary: "Answer with bytes",
    tag: "Test",
    success: { 200: { contentType: "application/octet-stream" } },
    handle: async ({ reply }) => {
      void reply.header("content-type", "application/octet-stream");
      return handle();
    },
  });
}

function endlessBytes(): Readable {
  return new Readable({
    read() {
      this.push(Buffer.alloc(65_536));
    },
  });
}

test("a response whose client stops reading is ended, streamed or whole; one that is read slowly, or that the server writes late, is not", async () => {
  let streams = 0;
  const isWritten = Promise.withResolvers<void>();
  const stream = async () => {
    streams++;
    return endlessBytes().once("close", () => streams--);
  };
  const late = async () => {
    await isWritten.promise;
    return Buffer.from("late");
  };
  const routes = [
    bytesRoute("/stream", stream),
    bytesRoute("/whole", async () => whole),
    bytesRoute("/late", late),
  ];
  const api = await startApi({ routes, limits: { stalled_response_ms: 1_000 } });
  const ports = new Set<number>();
  api.server.server.on("connection", (socket: Socket) => {
    const port = socket.remotePort!;
    ports.add(port);
    socket.once("close", () => ports.delete(port));
  });
  const clients: Socket[] = [];
  const ask = async (path: string) => {
    const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
    socket.on("error", () => {});
    clients.push(socket);
    await once(socket, "connect");
    socket.write(rawRequest(`GET ${path}`, { connection: "keep-alive" }));
    const port = socket.localPort!;
    await eventually(() => ports.has(port));
    return { socket, isOpen: () => ports.has(port) };
  };
  try {
    const waiting = await ask("/late");
    const stalled = [await ask("/stream"), await ask("/whole")];
    const slow = await ask("/stream");
    await eventually(() => {
      slow.socket.read(65_536);
      return stalled.every(({ isOpen }) => !isOpen());
    }, 30);
    assert.deepEqual([slow.isOpen(), waiting.isOpen(), streams], [true, true, 1]);
    isWritten.resolve();
    const [answer] = (await once(waiting.socket, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
  } finally {
    isWritten.resolve();
    for (const socket of clients) socket.destroy();
    await api.close();
  }
});
