// The account's events, as server-sent events.
import type { FastifyRequest } from "fastify";
import Type from "typebox";
import type { FieldError } from "../../lib/errors.ts";
import { closed } from "../../lib/schemas.ts";
import { validateTypes, stream_permissions, typesOf } from "../../live/event-audience.ts";
import { requestToken } from "../checks/authenticate.ts";
import { route } from "../route.ts";

const query = closed({
  types: Type.Optional(
    Type.String({
      maxLength: 2_000,
      description: "Only these event types, or prefixes as in `call.*`, separated by commas",
      examples: ["call.*,chat.campaign.completed"],
    }),
  ),
  last_event_id: Type.Optional(
    Type.Integer({
      format: "int64",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        "The id of the last event received: the stream begins after it. The header Last-Event-ID takes precedence. Without either, the stream begins now",
    }),
  ),
});

/** The header that a client sends when it reconnects. */
function lastEventId({ headers }: FastifyRequest): string | null {
  return headers["last-event-id"]?.toString() ?? null;
}

function validateLastEventId(request: FastifyRequest): FieldError[] {
  const id = lastEventId(request);
  const isId = id === null || (/^\d{1,16}$/.test(id) && Number.isSafeInteger(Number(id)));
  return isId ? [] : [{ field: "Last-Event-ID", reason: "must be the id of an event" }];
}

export const eventRoutes = [
  route({
    method: "GET",
    url: "/api/v1/events",
    id: "streamEvents",
    summary: "Stream events as they occur",
    tag: "Live events",
    access: { anyOf: stream_permissions },
    query,
    endless: true,
    success: { 200: { contentType: "text/event-stream" } },
    validate: async ({ query: { types }, request }) => [
      ...validateTypes(types),
      ...validateLastEventId(request),
    ],
    handle: async ({ app, caller, query: { types, last_event_id }, request, reply }) => {
      const begin = () => {
        void reply.header("content-type", "text/event-stream");
        // A proxy that buffers the answer would delay events.
        void reply.header("x-accel-buffering", "no");
      };
      // The answer to a HEAD has no body.
      if (request.method === "HEAD") {
        begin();
        return "";
      }
      const token = requestToken(request);
      const from = lastEventId(request) ?? last_event_id;
      const stream = await app.live.open({
        caller,
        reauthenticate: () => app.tokens.find(token),
        types: typesOf(types),
        from: from === undefined ? null : Number(from),
        disconnect: () => void (reply.raw.writableFinished || reply.raw.destroy()),
      });
      begin();
      return stream;
    },
  }),
];
