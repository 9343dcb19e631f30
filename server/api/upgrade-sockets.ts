// Answers requests with WebSockets (RFC 6455). A handshake passes the checks of its route like any other request.
import { ServerResponse, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { WebSocketServer, type WebSocket } from "ws";
import { Refusal } from "../lib/errors.ts";
import type { ApiApp } from "./api-app.ts";
import { refuseOtherOrigin } from "./checks/session-cookie.ts";

const message_bytes_max = 1_048_576;

/** What arrived of the socket together with the handshake. */
const heads = new WeakMap<IncomingMessage, Buffer>();
const sockets = new WebSocketServer({
  noServer: true,
  maxPayload: message_bytes_max,
  perMessageDeflate: false,
});

/** Whether Node hands over the connection of a request; other upgrades, such as to HTTP/2, are ignored. */
export function isHandshake({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/** Routes handshakes as requests. A route that does not accept them answers as usual and ends the connection. */
export function routeHandshakes(server: FastifyInstance): void {
  server.server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    heads.set(request, head);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once("finish", () => socket.end());
    socket.on("error", () => socket.destroy());
    server.routing(request, response);
  });
}

/** Accepts the handshake of a request. Refuses: bad-request (no handshake), forbidden (another site's page). */
export async function acceptSocket(
  { public_url }: Pick<ApiApp, "public_url">,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<WebSocket> {
  const head = heads.get(request.raw);
  if (!head)
    throw new Refusal("bad-request", "This is a WebSocket: connect with Upgrade: websocket");
  refuseOtherOrigin(request, public_url);
  reply.hijack();
  reply.raw.removeAllListeners("finish");
  const { socket } = request.raw;
  reply.raw.detachSocket(socket);
  const { promise, resolve } = Promise.withResolvers<WebSocket>();
  sockets.handleUpgrade(request.raw, socket, head, resolve);
  return promise;
}
