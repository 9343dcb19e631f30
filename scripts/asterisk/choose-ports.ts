import { reservePorts } from "../lib/reserve-ports.ts";

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
 * Ports of its own while this process lives, below those that the system gives to outgoing connections: a
 * stopped Asterisk finds them again.
 */
export async function choosePorts(given: Partial<AsteriskPorts> = {}): Promise<AsteriskPorts> {
  const own = await reservePorts({ from: 10_000, to: 18_000, count: 6 });
  const [http = 0, sip = 0, carrier = 0, phone = 0, bench = 0, dead = 0] = own;
  const rtp_start = given.rtp_start ?? 18_000 + 2 * Math.floor(Math.random() * 6_000);
  const rtp_end = rtp_start + rtp_ports - 1;
  return { http, sip, rtp_start, rtp_end, carrier, phone, bench, dead, ...given };
}
