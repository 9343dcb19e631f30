import type { LookupFunction, Socket } from "node:net";
import { Pool } from "undici";
import { tracedRequest } from "../tracing/traced-request.ts";
import { exchange } from "./exchange.ts";
import { findAddresses } from "./find-addresses.ts";
import { openGuard } from "./guard.ts";
import { guardedConnect } from "./guarded-connect.ts";
import { OutgoingError, type OutgoingHttp } from "./outgoing-http.ts";

/** Limit of a user's URL; what we append to its query is not counted. */
const url_characters_max = 2_048;
/** Beyond it the least recently used pool is closed; requests in flight on it finish. */
const pools_max = 512;
/** Connections of one sender to one host, so that a slow host delays no other host and no other sender. */
const connections_max = 256;
/** Below the idle timeouts of common servers, so that we rarely write to a closing connection. */
const keep_alive_ms = 4_000;
/** Requests per connection, so that a host's new address is used even when it is busy. */
const requests_max = 100;

/**
 * Opens a client for public addresses and for `allowed` (CALLBACK_ALLOW's entries; throws on an invalid one).
 * `given` resolves names to addresses.
 */
export function openOutgoingHttp(allowed: readonly string[], given?: LookupFunction): OutgoingHttp {
  const guard = openGuard(allowed);
  // Unless allowed, the guard refuses internal names before this.
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
        // Over HTTP/2, a request that a closing connection did not process could be repeated automatically.
        allowH2: false,
        // Each exchange has its own timer, from the look-up to the last byte.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
    // Moves the entry to the end: a Map keeps insertion order.
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
      const violation = guard.validateUrl(request.url);
      if (violation !== null) throw new OutgoingError("blocked", violation);
      const signals = signal ? [stopped.signal, signal] : [stopped.signal];
      return tracedRequest(request, async (onStatus) => {
        const pool = poolFor(request.sender, new URL(request.url));
        const response = await exchange(pool, request, signals);
        onStatus(response.status);
        return response;
      });
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
