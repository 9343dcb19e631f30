// Serves the console: its files, its page for every path of its own, and why it is not there yet.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Console } from "./open-console.ts";
import { install_dir } from "../lib/installation/install-dir.ts";
import { waiting_policy, waitingPage } from "./waiting-page.ts";

/** Nothing is inline, nothing comes from another host, and no other site may frame it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Paths that belong to the API: an unknown one is a JSON 404, whoever asks. */
const api_paths = /^\/(?:api|hooks|health|docs|metrics|openapi\.json|assets)(?:\/|$)/;

/** Registers `/assets/*`. */
export async function registerConsole(server: FastifyInstance, console: Console): Promise<void> {
  await server.register(fastifyStatic, { root: install_dir, serve: false, preCompressed: true });
  server.get("/assets/*", { schema: { hide: true } }, (request, reply) => {
    const { "*": file } = request.params as { "*": string };
    const state = console.state();
    if (state.status !== "ready") return reply.callNotFound();
    // The name of each file contains the hash of its content.
    void reply.header("cache-control", "public, max-age=31536000, immutable");
    return reply.sendFile(file, join(state.dir, "assets"), { cacheControl: false });
  });
}

/** Whether a request for an unknown path comes from a browser that navigates: the console's router shows it. */
export function isNavigation(request: FastifyRequest): boolean {
  const path = request.url.split("?")[0] ?? "/";
  const accept = request.headers.accept ?? "";
  return (
    (request.method === "GET" || request.method === "HEAD") &&
    !api_paths.test(path) &&
    accept.includes("text/html")
  );
}

/** Answers with the console's page; while it is being built or if that failed, with a page that says so. */
export async function sendConsolePage(reply: FastifyReply, console: Console): Promise<string> {
  void reply.header("cache-control", "no-cache").type("text/html; charset=utf-8");
  const state = console.state();
  if (state.status === "ready") {
    void reply.header("content-security-policy", policy);
    return readFile(join(state.dir, "index.html"), "utf8");
  }
  void reply.code(503).headers({ "retry-after": "2", "content-security-policy": waiting_policy });
  return state.status === "building"
    ? waitingPage(
        "The console is being built",
        "This takes up to a minute after the first start; then the console opens by itself. The API is ready.",
      )
    : waitingPage("The console could not be built", `The API is ready. ${state.reason}`);
}
