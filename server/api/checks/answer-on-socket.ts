// Answers on the connection itself, in the middle of a request, where no reply can be sent.
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Refusal } from "../../lib/errors.ts";
import { rateHeadersOn } from "./rate-limit.ts";
import { renderProblem, type RenderError } from "./render-error.ts";

/** How to render errors of the request in progress on a connection, where its route has its own way. */
export const rendersOn = new WeakMap<Socket, RenderError>();

/** Sends a refusal of the request in progress and ends the connection; `sent` is called after the last byte. */
export function answerOnSocket(
  socket: Socket,
  refusal: Refusal,
  requestId: string,
  sent: () => void = () => {},
): void {
  const render = rendersOn.get(socket) ?? renderProblem;
  const { status, contentType, body } = render(refusal, requestId);
  const text = JSON.stringify(body);
  const headers = {
    "content-type": contentType,
    ...rateHeadersOn(socket),
    ...refusal.headers,
    "x-request-id": requestId,
    "content-length": Buffer.byteLength(text),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${text}`, sent);
}
