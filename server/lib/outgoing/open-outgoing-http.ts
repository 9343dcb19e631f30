import type { LookupFunction, Socket } from "node:net";
import { Pool } from "undici";
import { exchange } from "./exchange.ts";
import { openGuard } from "./guard.ts";
import { guardedConnect, systemLookup } from "./guarded-connect.ts";
import { OutgoingError, type OutgoingHttp } from "./outgoing-http.ts";

/** Idle ones beyond it are closed, the longest unused first. */
const origins_max = 256;
/** So many that no slow path of a host keeps another one of the same host waiting. */
const connections_per_origin_max = 256;
/** Below the idle limits of common servers, so that a dying connection is seldom written to. */
const keep_alive_ms = 4_000;

/** The connections of one origin, and how many requests are under way on them. */
type Line = { readonly pool: Pool; busy: number };

/**
 * Requests that leave only for public addresses and for `allowed` (CALLBACK_ALLOW's entries; throws on
 * one that parseOpening does not read). `find` is how names become addresses.
 */
export function openOutgoingHttp(
  allowed: readonly string[],
  find: LookupFunction = systemLookup,
): OutgoingHttp {
  const guard = openGuard(allowed);
  const lines = new Map<string, Line>();
  const sockets = new Set<Socket>();
  const stopped = new AbortController();

  const lineTo = (url: URL): Line => {
    const line = lines.get(url.origin) ?? {
      pool: new Pool(url.origin, {
        connect: guardedConnect(guard, url, find, sockets),
        connections: connections_per_origin_max,
        pipelining: 1,
        keepAliveTimeout: keep_alive_ms,
        keepAliveMaxTimeout: keep_alive_ms,
        allowH2: false,
        // Each exchange has one timer of its own, over everything from the look-up to the last byte.
        headersTimeout: 0,
        bodyTimeout: 0,
      }),
      busy: 0,
    };
    // Moved to the end: a Map is in the order of insertion.
    lines.delete(url.origin);
    lines.set(url.origin, line);
    return line;
  };
  const closeUnused = () => {
    for (const [origin, { pool, busy }] of lines) {
      if (lines.size <= origins_max) return;
      if (busy > 0) continue;
      lines.delete(origin);
      void pool.close();
    }
  };

  return {
    async send(request, signal) {
      const fault = guard.judgeUrl(request.url);
      if (fault !== null) throw new OutgoingError("blocked", fault);
      const line = lineTo(new URL(request.url));
      line.busy += 1;
      closeUnused();
      try {
        const signals = signal ? [stopped.signal, signal] : [stopped.signal];
        return await exchange(line.pool, request, signals);
      } finally {
        line.busy -= 1;
      }
    },
    judge: guard.judgeUrl,
    async close() {
      stopped.abort();
      for (const socket of sockets) socket.destroy();
      await Promise.all(Array.from(lines.values(), ({ pool }) => pool.destroy()));
    },
  };
}
