import type { FastifyReply, FastifyRequest } from "fastify";
import type { Readable } from "node:stream";
import { openLargeBodies } from "./large-bodies.ts";
import { declaredBytes, openSmallBodies } from "./small-bodies.ts";

type Done = (error: Error | null, payload?: Readable) => void;

/** The limit of the routes that take no large bodies. */
export const small_bytes_max = 1_048_576;

async function pass(stream: Promise<Readable>, done: Done): Promise<void> {
  let body: Readable;
  try {
    body = await stream;
  } catch (error) {
    return done(error as Error);
  }
  done(null, body);
}

/**
 * Returns a preParsing hook that bounds what bodies take before they are complete. Uploads pass: they are
 * read part by part, into a file.
 */
export function openBodyHold() {
  const holdSmall = openSmallBodies();
  const spoolLarge = openLargeBodies();
  return (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void => {
    try {
      if (/^multipart\//i.test(request.headers["content-type"] ?? "")) return done(null);
      const { bodyLimit } = request.routeOptions;
      const bytes = declaredBytes(request);
      // Fastify refuses an announced length beyond the limit without reading the body.
      const isRefused = bytes > bodyLimit && bytes !== Number.POSITIVE_INFINITY;
      if (isRefused) return done(null);
      if (bodyLimit > small_bytes_max && bytes > small_bytes_max && request.caller)
        return void pass(spoolLarge(request, reply, payload as Readable), done);
      holdSmall(request, reply);
      done(null);
    } catch (error) {
      done(error as Error);
    }
  };
}
