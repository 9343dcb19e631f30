import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { startApi } from "../../test/support/api.ts";
import { eventually } from "../../test/support/eventually.ts";
import { overrunHandshake, stallRequest } from "../../test/support/hostile-client.ts";

test("one address has at most half of the connections, and another still gets an answer", async () => {
  const api = await startApi({ limits: { connections_max: 8 } });
  const open = (localAddress: string) =>
    stallRequest(api.url, "POST /nothing", { bytes: 1, beginning: "", localAddress });
  const many = Array.from({ length: 20 }, () => open("127.0.0.1"));
  try {
    const closed = () => many.filter(({ isClosed }) => isClosed()).length;
    await eventually(() => closed() === 16);
    const other = open("127.0.0.2");
    await eventually(() => other.socket.bytesRead > 0);
    other.socket.destroy();
  } finally {
    for (const { socket } of many) socket.destroy();
    await api.close();
  }
});

test("a trusted proxy may have more than half of the connections", async () => {
  const api = await startApi({ limits: { connections_max: 8 }, trusted_proxies: ["127.0.0.1"] });
  const open = () => stallRequest(api.url, "POST /nothing", { bytes: 1, beginning: "" });
  const many = Array.from({ length: 8 }, open);
  try {
    await eventually(() => many.every(({ socket }) => socket.bytesRead > 0));
  } finally {
    for (const { socket } of many) socket.destroy();
    await api.close();
  }
});

test("a WebSocket handshake that is not accepted holds no connection, also when its client sends more and closes", async () => {
  const api = await startApi();
  const open = new Set<Socket>();
  api.server.server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  try {
    for (const [path, status] of [
      ["/health/live", 200],
      ["/api/v1/nothing", 404],
      ["/api/v1/voice/agents/talk", 401],
      ["/api/v1/voice/agents/talk/?a=b", 401],
    ] as const) {
      const answer = await overrunHandshake(api.url, `GET ${path}`);
      assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer);
      await eventually(() => open.size === 0);
    }
  } finally {
    for (const socket of open) socket.destroy();
    await api.close();
  }
});
