import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A line to a port of this machine that can be cut. */
export type InterruptibleProxy = {
  /** Where it begins, on 127.0.0.1. */
  readonly port: number;
  /** Ends every connection without a word, and lets nobody through until it is mended. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
};

export async function openInterruptibleProxy(to_port: number): Promise<InterruptibleProxy> {
  const sockets = new Set<Socket>();
  let is_cut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // The other end learns of it.
    socket.on("error", () => {});
  };
  const server = createServer((near) => {
    if (is_cut) return void near.resetAndDestroy();
    const far = connect(to_port, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      keep(one);
      one.pipe(other);
      one.on("close", () => other.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    is_cut = true;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    mend: () => void (is_cut = false),
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
