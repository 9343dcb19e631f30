// OpenAPI 3.1 at /openapi.json, made from the very schemas that validate, and a page at /docs.
import fastifySwagger from "@fastify/swagger";
import fastifySwaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance, FastifySchema } from "fastify";
import type { Route } from "./route.ts";

/** The page is all its own; its styles are partly inline. */
const docs_page_policy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** Must be registered before the routes. */
export async function publishOpenApi(server: FastifyInstance): Promise<void> {
  await server.register(fastifySwagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Trunkline",
        version: "1",
        description:
          "CRM leads, bulk WhatsApp campaigns, voice campaigns and click-to-call. " +
          "Every request carries `Authorization: Bearer <ACCESS_TOKEN>`.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      // Relative: requests tried on the docs page go where the page came from.
      servers: [{ url: "/" }],
      components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
      security: [{ bearer: [] }],
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, i) =>
        typeof json["$id"] === "string" ? json["$id"] : `def-${i}`,
    },
  });
  await server.register(fastifySwaggerUi, {
    routePrefix: "/docs",
    staticCSP: docs_page_policy,
    theme: {
      title: "Trunkline API",
      css: [{ filename: "page.css", content: ".swagger-ui .topbar { display: none }" }],
    },
    uiConfig: { persistAuthorization: true, docExpansion: "list", displayRequestDuration: true },
  });
}

/** What Fastify validates, serializes and documents of a route. */
export function openApiSchema(route: Route): FastifySchema {
  const isWrite = route.method !== "GET" && route.access !== "public" && !route.multipart;
  return {
    operationId: route.id,
    summary: route.summary,
    tags: [route.tag],
    ...(route.access === "public" ? { security: [] } : {}),
    ...(route.multipart ? { consumes: ["multipart/form-data"] } : {}),
    ...(route.params ? { params: route.params } : {}),
    ...(route.query ? { querystring: route.query } : {}),
    ...(route.body ? { body: route.body } : {}),
    ...(isWrite ? { headers: idempotency_header } : {}),
    response: { ...responsesOf(route), ...errorsOf(route) },
  };
}

/** Documented here; checked by idempotency.ts, before the body's shape. */
const idempotency_header = {
  type: "object",
  properties: {
    "idempotency-key": {
      type: "string",
      description: "A retry with the same key gets the original answer and has no second effect",
    },
  },
};

function responsesOf(route: Route): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(route.success).map(([status, schema]) => {
      if ("contentType" in schema) {
        return [
          status,
          {
            description: route.summary,
            content: { [schema.contentType]: { schema: { type: "string" } } },
          },
        ];
      }
      if ("content" in schema) {
        return [status, { description: route.summary, content: schema.content }];
      }
      return [status, { description: route.summary, ...schema }];
    }),
  );
}

function errorsOf(route: Route): Record<string, unknown> {
  if (route.renderError) return {};
  const content = { "application/problem+json": { schema: { $ref: "Problem#" } } };
  return {
    "4xx": { description: "What was wrong with the request", content },
    "5xx": { description: "What was wrong on our side", content },
  };
}
