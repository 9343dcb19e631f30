// Builds the HTTP server around the list of routes: limits, headers, parsing, errors, documents.
import type { Socket } from "node:net";
import fastifyCookie from "@fastify/cookie";
import fastifyMultipart from "@fastify/multipart";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import type { Caller } from "../accounts/caller.ts";
import { openAddressList } from "../lib/addresses/address-list.ts";
import { Refusal, unavailable, type RefusalReason } from "../lib/errors.ts";
import { parseJsonBody } from "../lib/json-body.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import type { ApiApp } from "./api-app.ts";
import type { Console } from "../console/open-console.ts";
import { isNavigation, registerConsole, sendConsolePage } from "../console/serve-console.ts";
import { buildSerializer } from "./compile-serializer.ts";
import { compileValidator } from "./compile-validator.ts";
import { openIdempotency, type KeyedRequest, type StoredResponse } from "./checks/idempotency.ts";
import { publishOpenApi } from "./openapi.ts";
import { openAccountReads } from "./checks/account-reads.ts";
import { openBodyWatch, type BodyRate, type BodyWatch } from "./bodies/watch-bodies.ts";
import { small_bytes_max } from "./bodies/hold-body.ts";
import { handshakesFor, routeHandshakes } from "./upgrade-sockets.ts";
import { nextRequestId } from "./checks/next-request-id.ts";
import { answerOnSocket, rendersOn } from "./checks/answer-on-socket.ts";
import {
  clearRateHeaders,
  openRateCounter,
  setDefaultRateHeaders,
  type RateLimit,
} from "./checks/rate-limit.ts";
import { openRequestLimiter } from "./checks/request-limit.ts";
import { limitConnections } from "./limit-connections.ts";
import { endStalledResponses } from "./end-stalled-responses.ts";
import { registerRoutes } from "./register-routes.ts";
import { sendError, type RenderError } from "./checks/render-error.ts";
import type { Route } from "./route.ts";
import { routes as allRoutes } from "./routes.ts";
import { openTransactions } from "./checks/transactions.ts";
import { traceRequests } from "./trace-requests.ts";
import { Problem } from "../lib/schemas.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set on every route that is not public. */
    caller: Caller | null;
    /** Set on a write with an Idempotency-Key. */
    keyed: KeyedRequest | null;
    /** The stored response of a keyed write. */
    stored: StoredResponse | null;
    /** Why a parsed body is invalid: reported after what outranks a 422. */
    bodyRefusal: Refusal | null;
    /** Why a refusal with a 5xx does not mean that the service failed. */
    refusalReason: RefusalReason | null;
  }
  interface FastifyContextConfig {
    renderError?: RenderError;
    rawBody?: true;
    malformedType?: "bad-request";
    rateLimit?: RateLimit;
    endless?: true;
  }
}

export type HttpOptions = {
  /** Defaults to every route of the service. */
  readonly routes?: readonly Route[];
  readonly limits?: Partial<HttpLimits>;
  /** Addresses and networks of proxies whose X-Forwarded-For names the client; none by default. */
  readonly trusted_proxies?: readonly string[];
  readonly timers?: Timers;
  /** Without one, a browser gets the API's 404. */
  readonly console?: Console;
};

export type HttpLimits = {
  /** How long a client may take to send its headers, and its whole request. */
  readonly headers_timeout_ms: number;
  readonly request_timeout_ms: number;
  /** The least that must arrive of a body. */
  readonly body_rate: BodyRate;
  /** How long a client may read nothing of a response. */
  readonly stalled_response_ms: number;
  readonly connections_max: number;
};

const default_limits: HttpLimits = {
  headers_timeout_ms: 10_000,
  request_timeout_ms: 120_000,
  body_rate: { window_ms: 10_000, bytes: 10_000 },
  stalled_response_ms: 60_000,
  connections_max: 8_192,
};
/** The largest CSV upload, in bytes. */
const file_bytes_max = 256 * 1_048_576;

/** Builds a server that is ready to listen; closing it lets requests in flight finish. */
export async function buildHttpServer(
  app: ApiApp,
  options: HttpOptions = {},
): Promise<FastifyInstance> {
  const { routes = allRoutes, timers = systemTimers, console, trusted_proxies = [] } = options;
  const limits = { ...default_limits, ...options.limits };
  const isTrustedProxy = openAddressList(trusted_proxies);
  const server = Fastify({
    genReqId: nextRequestId,
    requestIdHeader: false,
    trustProxy: isTrustedProxy,
    bodyLimit: small_bytes_max,
    // A longer id in a path would be answered by the router instead of the route.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    requestTimeout: limits.request_timeout_ms,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: {
      headersTimeout: limits.headers_timeout_ms,
      connectionsCheckingInterval: 500,
      shouldUpgradeCallback: handshakesFor(routes),
    },
    schemaController: { compilersFactory: { buildSerializer } },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for a path that cannot be decoded.
      void reply.headers(security_headers).header("x-request-id", request.id);
      sendError(error, request, reply, app.log);
    },
  });
  server.addSchema(Problem);
  server.decorateRequest("caller", null);
  server.decorateRequest("keyed", null);
  server.decorateRequest("stored", null);
  server.decorateRequest("bodyRefusal", null);
  server.decorateRequest("refusalReason", null);
  server.setValidatorCompiler(compileValidator);
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply, app.log));
  server.setNotFoundHandler(async (request, reply) => {
    if (console && isNavigation(request)) return sendConsolePage(reply, console);
    return sendError(unknownPath(), request, reply, app.log);
  });
  parseJson(server);
  routeHandshakes(server);
  boundConnections(server, limits, isTrustedProxy);
  const watch = openBodyWatch(timers, limits.body_rate);
  server.server.once("close", watch.close);
  traceRequests(server);
  addHooks(server, app, watch);
  await server.register(fastifyCookie);
  if (console) await registerConsole(server, console);
  await server.register(fastifyMultipart, {
    limits: { files: 1, fileSize: file_bytes_max, fields: 50, fieldSize: 65_536 },
  });
  await publishOpenApi(server);
  const shared = {
    idempotency: openIdempotency(app),
    transactions: openTransactions(app.db),
    accountReads: openAccountReads(app),
    counter: openRateCounter(app.db),
    limiter: openRequestLimiter(app.clock),
  };
  registerRoutes(server, app, shared, routes);
  // Node would answer 417 by itself; unknown expectations are ignored instead.
  server.server.on("checkExpectation", (request, response) =>
    server.server.emit("request", request, response),
  );
  await server.ready();
  return server;
}

/** Bounds how many connections there are, and how long each holds a response that its client does not read. */
function boundConnections(
  { server }: FastifyInstance,
  { connections_max, stalled_response_ms }: HttpLimits,
  isTrustedProxy: (address: string) => boolean,
): void {
  limitConnections(server, connections_max, isTrustedProxy);
  endStalledResponses(server, stalled_response_ms);
}

/** Parses bodies as JSON, also without a Content-Type; the multipart plugin parses its own. */
function parseJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  const parse = (
    request: FastifyRequest,
    body: Buffer,
    done: (error: Error | null, value?: unknown) => void,
  ) => {
    if (request.routeOptions.config.rawBody) return done(null, body);
    const isExpected = request.routeOptions.schema?.body !== undefined;
    try {
      done(null, body.length > 0 || isExpected ? parseJsonBody(body) : undefined);
    } catch (error) {
      const isJson = error instanceof Refusal && error.type === "validation-failed";
      if (!isJson) return done(error as Error);
      request.bodyRefusal = error;
      done(null, undefined);
    }
  };
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, parse);
}

const security_headers = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
};

function addHooks(server: FastifyInstance, app: ApiApp, watch: BodyWatch): void {
  let stopping = false;
  const closeSilent = silentConnectionCloser(server);
  server.addHook("preClose", (done) => {
    stopping = true;
    app.live.close();
    app.talks.close();
    // A connection that becomes idle after its last answer would keep the server open.
    setInterval(() => {
      server.server.closeIdleConnections();
      closeSilent();
    }, 50).unref();
    done();
  });
  server.addHook("onRequest", (request, reply, done) => {
    request.raw.headers["content-type"] ??= "application/json";
    void reply.headers(security_headers).header("x-request-id", request.id);
    const { rateLimit, renderError } = request.routeOptions.config;
    if (renderError) rendersOn.set(request.raw.socket, renderError);
    if (rateLimit) setDefaultRateHeaders(rateLimit, request, reply);
    watch.start(request, reply);
    // Before the body is read.
    if (!stopping) return request.is404 && !isNavigation(request) ? done(unknownPath()) : done();
    void reply.header("connection", "close");
    done(unavailable(new Error("the server is stopping")));
  });
  server.addHook("onResponse", (request, reply, done) => {
    watch.answered(request);
    if (request.routeOptions.config.rateLimit) clearRateHeaders(request);
    if (request.routeOptions.config.renderError) rendersOn.delete(request.raw.socket);
    const route = request.routeOptions.url ?? "unknown";
    const status = reply.statusCode;
    const reason = request.refusalReason;
    if (!request.routeOptions.config.endless)
      app.metrics.httpRequestSeconds.observe(
        { method: request.method, route, status, ...(reason && { reason }) },
        reply.elapsedTime / 1_000,
      );
    app.log.debug({ request_id: request.id, method: request.method, route, status }, "answered");
    done();
  });
}

function unknownPath(): Refusal {
  return new Refusal("not-found", "This path does not exist");
}

/** Closes connections that never sent a byte, as browsers open in advance: Node counts them as busy. */
function silentConnectionCloser({ server }: FastifyInstance): () => void {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
}

/** Answers requests that the HTTP parser refuses: malformed ones, and those too slow to arrive. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const slow = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  const large = error.code === "HPE_HEADER_OVERFLOW";
  const refusal = slow
    ? new Refusal("request-timeout", "The request did not arrive in time")
    : new Refusal(
        "bad-request",
        large ? "The headers are too large" : "The request is not valid HTTP",
      );
  answerOnSocket(socket, refusal, nextRequestId());
}
