// Answers requests with WebSockets (RFC 6455). A handshake passes the checks of its route like any other request.
import { ServerResponse, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { WebSocketServer, type WebSocket } from "ws";
import { Refusal } from "../lib/errors.ts";
import type { ApiApp } from "./api-app.ts";
import { refuseOtherOrigin } from "./checks/session-cookie.ts";
import type { Route } from "./route.ts";

const message_bytes_max = 1_048_576;

/** What arrived of the socket together with the handshake. */
const heads = new WeakMap<IncomingMessage, Buffer>();
const sockets = new WebSocketServer({
  noServer: true,
  maxPayload: message_bytes_max,
  perMessageDeflate: false,
});

/**
 * Returns whether Node hands over the connection of a request: a handshake for a route that opens a socket. Other
 * upgrades are ignored, because Node neither reads nor times out a connection that it has handed over.
 */
export function handshakesFor(routes: readonly Route[]): (request: IncomingMessage) => boolean {
  const paths = new Set(routes.filter(({ success }) => 101 in success).map(({ url }) => url));
  return ({ method, url, headers }) =>
    method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    paths.has(url!.replace(/[?].*$/, "").replace(/[/]$/, ""));
}

/** Routes handshakes as requests. A refusal ends the connection. */
export function routeHandshakes(server: FastifyInstance): void {
  server.server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    heads.set(request, head);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    // Destroyed, because `end` waits for the client's end, which does not arrive behind bytes that are not read.
    response.once("finish", () => {
      socket.resume();
      socket.destroySoon();
    });
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
