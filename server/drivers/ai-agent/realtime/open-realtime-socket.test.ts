import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { WebSocketServer, type WebSocket } from "ws";
import { eventually } from "../../../../test/support/eventually.ts";
import { openRealtimeSocket } from "./open-realtime-socket.ts";

test("drops the oldest queued audio when the server does not read", async (t) => {
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
      transcription_model: "t",
      handshake_ms: 120_000,
    },
    { onMessage: () => {}, onLost: (error) => void lost.push(error) },
  );
  const [client] = (await connected) as [WebSocket];
  client.on("message", (data) => {
    const { audio } = JSON.parse((data as Buffer).toString()) as { audio: string };
    arrived.push(Buffer.from(audio, "base64").toString().trimEnd());
  });
  const chunk = (order: number) => Buffer.from(String(order).padEnd(4_000, " "));
  let sent = 0;
  await eventually(() => {
    socket.sendAudio(chunk(sent++));
    return arrived.length > 0;
  });
  client.pause();
  // More than the buffers of the operating system hold.
  await eventually(() => {
    for (let count = 0; count < 500; count++) socket.sendAudio(chunk(sent++));
    return socket.dropped() > 0;
  });
  client.resume();
  const resumed = sent;
  await eventually(() => {
    socket.sendAudio(chunk(sent++));
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

test("closes the connection to a server that does not answer the close frame", async (t) => {
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
    { url, api_key: null, model: "m", transcription_model: "t", handshake_ms: 120_000 },
    { onMessage: () => {}, onLost: (error) => void lost.push(error) },
  );
  const [client] = (await connected) as [WebSocket];
  client.pause();
  await socket.close();
  await socket.close();
  assert.deepEqual(lost, []);
});
