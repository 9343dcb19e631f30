import type { Server } from "node:http";
import type { Socket } from "node:net";
import { addressGroup } from "../lib/addresses/address-group.ts";

/**
 * Closes new connections beyond `connections_max`, of which one address has at most half, so that a flood
 * from one does not shut out the others. A trusted proxy may have all: it brings many clients, and limits them itself.
 */
export function limitConnections(
  server: Server,
  connections_max: number,
  isTrustedProxy: (address: string) => boolean,
): void {
  const of_address_max = Math.ceil(connections_max / 2);
  const open = new Map<string, number>();
  server.maxConnections = connections_max;
  server.on("connection", (socket: Socket) => {
    const { remoteAddress = "" } = socket;
    if (isTrustedProxy(remoteAddress)) return;
    const address = addressGroup(remoteAddress);
    const count = (open.get(address) ?? 0) + 1;
    open.set(address, count);
    socket.once("close", () => {
      const left = open.get(address)! - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
    if (count > of_address_max) socket.destroy();
  });
}
