import type { LookupFunction, Socket } from "node:net";
import { Pool } from "undici";
import { exchange } from "./exchange.ts";
import { findAddresses } from "./find-addresses.ts";
import { openGuard } from "./guard.ts";
import { guardedConnect } from "./guarded-connect.ts";
import { OutgoingError, type OutgoingHttp } from "./outgoing-http.ts";

/** Of one that a user gives; what we append to its query comes on top. */
const url_characters_max = 2_048;
/** Beyond it the longest unused one is closed; what is under way on it still ends. */
const pools_max = 512;
/** Of one sender to one host: its slow path keeps no other one waiting, and no other sender's. */
const connections_max = 256;
/** Below the idle limits of common servers, so that a dying connection is seldom written to. */
const keep_alive_ms = 4_000;
/** Of one connection: a host that moves is followed, however busy it is. */
const requests_max = 100;

/**
 * Requests that leave only for public addresses and for `allowed` (CALLBACK_ALLOW's entries; throws on
 * one that parseOpening does not read). `given` is how names become addresses.
 */
export function openOutgoingHttp(allowed: readonly string[], given?: LookupFunction): OutgoingHttp {
  const guard = openGuard(allowed);
  // Without an opening the guard lets none of the house's names come so far.
  const find = given ?? findAddresses((name) => guard.validateName(name) !== null);
  const pools = new Map<string, Pool>();
  const sockets = new Set<Socket>();
  const stopped = new AbortController();

  const poolFor = (sender: number, url: URL): Pool => {
    const key = `${sender} ${url.origin}`;
    const pool =
      pools.get(key) ??
      new Pool(url.origin, {
        connect: guardedConnect(guard, url, find, sockets),
        connections: connections_max,
        pipelining: 1,
        maxRequestsPerClient: requests_max,
        keepAliveTimeout: keep_alive_ms,
        keepAliveMaxTimeout: keep_alive_ms,
        // Over HTTP/2 a request that a closing connection did not take may be sent again unasked.
        allowH2: false,
        // Each exchange has one timer of its own, over everything from the look-up to the last byte.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
    // Moved to the end: a Map is in the order of insertion.
    pools.delete(key);
    pools.set(key, pool);
    for (const [oldest, unused] of pools) {
      if (pools.size <= pools_max) break;
      pools.delete(oldest);
      void unused.close();
    }
    return pool;
  };

  return {
    async send(request, signal) {
      const fault = guard.validateUrl(request.url);
      if (fault !== null) throw new OutgoingError("blocked", fault);
      const signals = signal ? [stopped.signal, signal] : [stopped.signal];
      return exchange(poolFor(request.sender, new URL(request.url)), request, signals);
    },
    validate: (url) =>
      url.length > url_characters_max
        ? `the URL must have at most ${url_characters_max} characters`
        : guard.validateUrl(url),
    async close() {
      stopped.abort();
      for (const socket of sockets) socket.destroy();
      await Promise.all(Array.from(pools.values(), (pool) => pool.destroy()));
    },
  };
}
