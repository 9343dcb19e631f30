import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A TCP proxy to a local port whose connections a test can cut. */
export type InterruptibleProxy = {
  /** The port it listens on, on 127.0.0.1. */
  readonly port: number;
  /** Resets every connection and refuses new ones until `restore`. */
  cut(): void;
  restore(): void;
  /** Forwards new connections to another local port. */
  redirect(port: number): void;
  close(): Promise<void>;
};

/** Starts a proxy on a free port that forwards to `to_port`. */
export async function openInterruptibleProxy(to_port: number): Promise<InterruptibleProxy> {
  let target = to_port;
  const sockets = new Set<Socket>();
  let is_cut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // The close event ends the other side as well.
    socket.on("error", () => {});
  };
  const server = createServer((near) => {
    if (is_cut) return void near.resetAndDestroy();
    const far = connect(target, "127.0.0.1");
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
    restore: () => void (is_cut = false),
    redirect: (port) => void (target = port),
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
