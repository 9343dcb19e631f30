import type { IncomingMessage, Server, ServerResponse } from "node:http";

/**
 * Closes the connection of a response of which its client reads nothing for `stalled_ms`; for up to twice that if the
 * operating system took a part of what was last written. The time in which the server has nothing to write does not
 * count.
 */
export function endStalledResponses(server: Server, stalled_ms: number): void {
  server.prependListener("request", (_: IncomingMessage, response: ServerResponse) => {
    // Node's time without activity, which partial writes extend. After the response it becomes that of an idle connection.
    response.setTimeout(stalled_ms, () => {
      const { socket } = response;
      if (socket !== null && socket.writableLength > 0) socket.destroy();
    });
  });
}
