import { reservePorts } from "../lib/reserve-ports.ts";

/** Ports on 127.0.0.1. */
export type AsteriskPorts = {
  /** ARI. */
  readonly http: number;
  /** Asterisk's SIP (UDP). */
  readonly sip: number;
  /** First port of Asterisk's audio. */
  readonly rtp_start: number;
  readonly rtp_end: number;
  /** The carrier of the endpoint `trunk` (UDP). */
  readonly carrier: number;
  /** All agents' phones (UDP). */
  readonly phone: number;
  /** The source of calls to the context `bench` (UDP). */
  readonly bench: number;
  /** An unused port: the carrier of `deadtrunk`. */
  readonly dead: number;
};

const rtp_ports = 2_000;

/**
 * Chooses ports that stay reserved while this process lives, below the system's range for outgoing connections,
 * so that a restarted Asterisk gets them again.
 */
export async function choosePorts(given: Partial<AsteriskPorts> = {}): Promise<AsteriskPorts> {
  const own = await reservePorts({ from: 10_000, to: 18_000, count: 6 });
  const [http = 0, sip = 0, carrier = 0, phone = 0, bench = 0, dead = 0] = own;
  const rtp_start = given.rtp_start ?? 18_000 + 2 * Math.floor(Math.random() * 6_000);
  const rtp_end = rtp_start + rtp_ports - 1;
  return { http, sip, rtp_start, rtp_end, carrier, phone, bench, dead, ...given };
}
