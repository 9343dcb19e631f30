import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/** All on 127.0.0.1. */
export type AsteriskPorts = {
  /** ARI. */
  readonly http: number;
  /** Where Asterisk's SIP listens (UDP). */
  readonly sip: number;
  /** Its audio, from the first to the last. */
  readonly rtp_start: number;
  readonly rtp_end: number;
  /** Where it expects the carrier of the endpoint `trunk` (UDP). */
  readonly carrier: number;
  /** Where it expects all agents' phones (UDP). */
  readonly phone: number;
  /** From where calls are let into the context `bench` (UDP). */
  readonly bench: number;
  /** Nothing listens here: the carrier of `deadtrunk`. */
  readonly dead: number;
};

const rtp_ports = 2_000;

/**
 * Ports that are free now, below those that the system gives to outgoing connections: a stopped
 * Asterisk finds them again.
 */
export async function choosePorts(given: Partial<AsteriskPorts> = {}): Promise<AsteriskPorts> {
  const taken = new Set<number>();
  const next = async () => {
    for (;;) {
      const port = 10_000 + Math.floor(Math.random() * 8_000);
      if (taken.has(port) || !(await isFree(port))) continue;
      taken.add(port);
      return port;
    }
  };
  const rtp_start = given.rtp_start ?? 18_000 + 2 * Math.floor(Math.random() * 6_000);
  return {
    http: given.http ?? (await next()),
    sip: given.sip ?? (await next()),
    rtp_start,
    rtp_end: given.rtp_end ?? rtp_start + rtp_ports - 1,
    carrier: given.carrier ?? (await next()),
    phone: given.phone ?? (await next()),
    bench: given.bench ?? (await next()),
    dead: given.dead ?? (await next()),
  };
}

/** By TCP and by UDP, so that it does for either. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const socket = createSocket("udp4");
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    socket.bind(port, "127.0.0.1");
    await once(socket, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
    socket.close();
  }
}
