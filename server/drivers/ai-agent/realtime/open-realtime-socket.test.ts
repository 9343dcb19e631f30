import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { WebSocketServer, type WebSocket } from "ws";
import { eventually } from "../../../../test/support/eventually.ts";
import { openRealtimeSocket } from "./open-realtime-socket.ts";

test("a server that does not read is not waited for: of the sound that must wait the oldest goes", async (t) => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  t.after(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const arrived: string[] = [];
  const connected = once(server, "connection");
  const lost: unknown[] = [];
  const socket = openRealtimeSocket(
    {
      url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      api_key: null,
      model: "m",
      handshake_ms: 120_000,
    },
    { heard: () => {}, lost: (why) => void lost.push(why) },
  );
  const [client] = (await connected) as [WebSocket];
  client.on("message", (data) => {
    const { audio } = JSON.parse((data as Buffer).toString()) as { audio: string };
    arrived.push(Buffer.from(audio, "base64").toString().trimEnd());
  });
  const chunk = (order: number) => Buffer.from(String(order).padEnd(4_000, " "));
  let sent = 0;
  await eventually(() => {
    socket.sendSound(chunk(sent++));
    return arrived.length > 0;
  });
  client.pause();
  // As much as the machine's own buffers hold, and more.
  await eventually(() => {
    for (let round = 0; round < 500; round++) socket.sendSound(chunk(sent++));
    return socket.dropped() > 0;
  });
  client.resume();
  const resumed = sent;
  await eventually(() => {
    socket.sendSound(chunk(sent++));
    return Number(arrived.at(-1)) >= resumed;
  });
  const orders = arrived.map(Number);
  assert.deepEqual(
    orders.toSorted((a, b) => a - b),
    orders,
  );
  const missing = Number(arrived.at(-1)) + 1 - arrived.length;
  assert.ok(missing > 0 && missing <= socket.dropped(), `${missing} of ${socket.dropped()}`);
  client.terminate();
  await eventually(() => lost.length === 1);
  await socket.close();
});

test("one that never says goodbye is left all the same", async (t) => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  t.after(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const connected = once(server, "connection");
  const lost: unknown[] = [];
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const socket = openRealtimeSocket(
    { url, api_key: null, model: "m", handshake_ms: 120_000 },
    { heard: () => {}, lost: (why) => void lost.push(why) },
  );
  const [client] = (await connected) as [WebSocket];
  client.pause();
  await socket.close();
  await socket.close();
  assert.deepEqual(lost, []);
});
