// Ends requests whose body arrives too slowly: each holds a connection and what has arrived so far.
import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../../lib/errors.ts";
import type { Timers } from "../../lib/timers.ts";
import { cutOff } from "./cut-off.ts";
import { declaredBytes } from "./small-bodies.ts";

/** The least that a client must send of a body: so many bytes in each window. */
export type BodyRate = { readonly window_ms: number; readonly bytes: number };

export type BodyWatch = {
  /** Watches a request until its body has arrived. */
  start(request: FastifyRequest, reply: FastifyReply): void;
  /** Ends the watch of an answered request, unless its body is still arriving. */
  answered(request: FastifyRequest): void;
  close(): void;
};

type Window = { readonly reply: FastifyReply; since_ms: number; bytes: number };

const check_ms = 1_000;

/** Starts watching; a body that is slower than the rate is 408. */
export function openBodyWatch(timers: Timers, rate: BodyRate): BodyWatch {
  const arriving = new Map<FastifyRequest, Window>();
  const check = () => {
    cancel = timers.schedule(check, check_ms);
    const now_ms = timers.now();
    for (const [request, window] of arriving) {
      const { raw } = request;
      if (raw.complete || raw.socket.destroyed) {
        arriving.delete(request);
        continue;
      }
      // While the server does not read, the time is not the client's.
      const isFull = raw.readableLength >= raw.readableHighWaterMark;
      if (!isFull && now_ms - window.since_ms < rate.window_ms) continue;
      if (isFull || raw.socket.bytesRead - window.bytes >= rate.bytes) {
        window.since_ms = now_ms;
        window.bytes = raw.socket.bytesRead;
        continue;
      }
      arriving.delete(request);
      cutOff(request, tooSlow(rate), window.reply.raw.headersSent);
    }
  };
  let cancel = timers.schedule(check, check_ms);
  return {
    start(request, reply) {
      if (declaredBytes(request) === 0) return;
      const { bytesRead } = request.raw.socket;
      arriving.set(request, { reply, since_ms: timers.now(), bytes: bytesRead });
    },
    answered(request) {
      if (request.raw.complete) arriving.delete(request);
    },
    close: () => cancel(),
  };
}

function tooSlow({ window_ms, bytes }: BodyRate): Refusal {
  return new Refusal(
    "request-timeout",
    `The body arrived too slowly: at least ${bytes} bytes must arrive in ${window_ms / 1_000} s`,
  );
}
