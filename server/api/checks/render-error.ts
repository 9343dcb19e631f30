// Renders every error as an answer.
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { isDatabaseUnavailable } from "../../lib/database/database-errors.ts";
import { Refusal, refusals, unavailable, notFound } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";

/** Renders a refusal as the response of a route: its status, its media type and its body. */
export type RenderError = (
  refusal: Refusal,
  requestId: string,
) => { status: number; contentType: string; body: unknown };

/** Renders a problem of RFC 9457; `type` is the contract's error type. */
export const renderProblem: RenderError = (refusal, requestId) => ({
  status: refusals[refusal.type].status,
  contentType: "application/problem+json",
  body: {
    type: refusal.type,
    title: refusals[refusal.type].title,
    status: refusals[refusal.type].status,
    detail: refusal.message,
    request_id: requestId,
    ...(refusal.errors ? { errors: refusal.errors } : {}),
  },
});

/** Answers with the refusal that `error` translates to; logs server errors. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): void {
  const refusal = clientIsGone(request)
    ? broken(error)
    : renamed(toRefusal(error, request), request);
  request.refusalReason = refusal.reason ?? null;
  const render = request.routeOptions.config.renderError ?? renderProblem;
  const { status, contentType, body } = render(refusal, request.id);
  if (status >= 500) logFailure(refusal, error, request, log);
  void reply
    .code(status)
    .headers(refusal.headers)
    .header("content-type", contentType)
    .serializer((text: string) => text)
    .send(JSON.stringify(body));
}

/** Overload and a database outage fail thousands of requests: logs a line for each, without a stack. */
function logFailure(refusal: Refusal, error: unknown, request: FastifyRequest, log: Log): void {
  const at = { request_id: request.id, route: request.routeOptions.url };
  const cause = refusal.cause ?? error;
  if (refusal.type === "unavailable" && cause instanceof Error) {
    log.warn(at, `unavailable: ${cause.message}`);
  } else log.error({ ...at, err: cause }, "request failed");
}

/** Returns whether the client disconnected before it sent its whole body: not a failure of the server. */
function clientIsGone({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete;
}

function broken(cause: unknown): Refusal {
  return new Refusal("bad-request", "The request could not be read", { cause });
}

/** A route may report another type for a malformed body. */
function renamed(refusal: Refusal, { routeOptions }: FastifyRequest): Refusal {
  const { malformedType } = routeOptions.config;
  if (!malformedType || refusal.type !== "malformed-body") return refusal;
  return new Refusal(malformedType, refusal.message, { cause: refusal.cause });
}

function toRefusal(error: unknown, request: FastifyRequest): Refusal {
  if (error instanceof Refusal) return error;
  if (isDatabaseUnavailable(error)) return unavailable(error);
  if (error instanceof Error && "code" in error) {
    const refusal = fromFastify(error as FastifyError, request);
    if (refusal) return refusal;
  }
  return new Refusal(
    "internal-error",
    "The request failed because of a server error, which is logged under request_id",
    {
      cause: error,
    },
  );
}

/** Returns a 415 that names the media types which the endpoint accepts. */
export function otherMediaType({ routeOptions }: FastifyRequest): Refusal {
  const accepted = routeOptions.schema?.consumes?.join(", ") ?? "application/json";
  return new Refusal("unsupported-media-type", `This endpoint accepts only ${accepted}`);
}

function fromFastify(error: FastifyError, request: FastifyRequest): Refusal | null {
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
    case "FST_REQ_FILE_TOO_LARGE":
      return new Refusal("body-too-large", "The body is larger than this endpoint accepts");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    case "FST_INVALID_MULTIPART_CONTENT_TYPE":
      return otherMediaType(request);
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new Refusal(
        "malformed-body",
        "The length of the body does not match its Content-Length",
      );
    case "FST_ERR_BAD_URL":
    case "FST_STATIC_FORBIDDEN_PATH":
      return notFound();
    default:
      return error.statusCode === 400 ? broken(error) : null;
  }
}
