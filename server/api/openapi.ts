// OpenAPI 3.1 at /openapi.json, made from the very schemas that validate, and a page at /docs.
import fastifySwagger from "@fastify/swagger";
import fastifySwaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance, FastifySchema } from "fastify";
import type { Route } from "./route.ts";
import { describeWebhooks } from "./webhooks.ts";

/** The page is all its own; its styles are partly inline. */
const docs_page_policy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** The page has no viewport of its own: a phone would show it far too small. */
const fit_small_screens =
  "const meta = document.createElement('meta'); meta.name = 'viewport'; " +
  "meta.content = 'width=device-width, initial-scale=1'; document.head.append(meta);";

/** What holds for all routes, told once. */
const introduction = `CRM leads, bulk WhatsApp campaigns, voice campaigns and click-to-call.

- Every request carries \`Authorization: Bearer <ACCESS_TOKEN>\`.
- Fields under \`/api/v1/crm\` are camelCase, all others snake_case. A field that a body, a query or a form
  does not have is refused.
- Lists answer \`{data, nextCursor}\` under \`/api/v1/crm\`, \`{data, next_cursor}\` elsewhere: send it back as
  \`cursor\` for the next page, until it is null. \`limit\` is at most 200.
- Times in answers are UTC. A time sent without an offset is local to the account's zone.
- A write other than an import may carry an \`Idempotency-Key\`: repeated with the same key and body, it
  answers the same and does nothing twice.
- Errors are \`application/problem+json\`, and a 422 names every failing field at once, up to 100. Those of
  click-to-call are \`{status, message}\`.
- A body is at most 1 MB, a chat campaign's 64 MB, a voice campaign's 16 MB; a CSV file 256 MB.`;

/** The groups of routes, in the order in which they are shown; every route's tag is one of them. */
const tags = [
  ["Leads", "Create leads, and work with them"],
  ["Import and export", "Leads from and to CSV"],
  ["Contacts", "The people behind the leads: one for each phone number of a workspace"],
  ["Workspaces", "Each with picklists, custom fields, contacts and leads of its own"],
  ["Picklists", "The statuses, sources and priorities that a lead may have"],
  ["Custom fields", "What a workspace keeps of a lead beyond its own fields"],
  ["Chat campaigns", "Messages to many, created and sent in one request"],
  ["Chat numbers", "What campaigns are sent from"],
  ["Chat templates", "Messages that the provider has approved, or is to approve"],
  ["Chat flows", "Opening messages of conversations"],
  ["Automation flows", "Opening messages of automations"],
  ["Chat replies", "What customers wrote back"],
  ["Chat holds", "What keeps messages back, and how to let them go"],
  ["Voice", "Calls to many, launched in one request, and what is played and said on them"],
  ["Calls", "An agent and a customer, called and joined; what became of each call"],
  ["Extensions", "The agents' phones"],
  ["Agent groups", "Who is rung when an agent does not answer, and in which order"],
  ["Voice nodes", "The operator's: the switches that calls are placed on"],
  ["Trunks", "The operator's: the ways to carriers"],
  ["Suppressions", "Numbers not to write to or call"],
  ["Groups", "Saved groups of people"],
  ["Account", "The account and its settings"],
  ["Users", "Who works in the account"],
  ["Roles", "What users may do"],
  ["Tokens", "What requests are made with"],
  ["Credits", "What messages and calls are paid with"],
  ["Reports", "What became of messages and calls, by campaign, day, number and agent"],
  ["Callbacks", "Who is told of what happens, and how each delivery went"],
  ["Live events", "What happens, as it happens"],
  ["Erasures", "Everything that is kept of a person, erased"],
  ["Provider webhooks", "Where chat providers report; signed by them, needs no token"],
  ["Audit trail", "Who changed what, and when"],
  ["System", "What operators and machines ask of the process; needs no token"],
] as const;

/** Must be registered before the routes. */
export async function publishOpenApi(server: FastifyInstance): Promise<void> {
  await server.register(fastifySwagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Trunkline",
        version: "1",
        description: introduction,
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      tags: tags.map(([name, description]) => ({ name, description })),
      // Relative: requests tried on the docs page go where the page came from.
      servers: [{ url: "/" }],
      webhooks: describeWebhooks(),
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
      js: [{ filename: "page.js", content: fit_small_screens }],
    },
    uiConfig: { persistAuthorization: true, docExpansion: "list", displayRequestDuration: true },
  });
}

/** What Fastify validates, serializes and documents of a route. */
export function openApiSchema(route: Route): FastifySchema {
  const isWrite = route.method !== "GET" && route.access !== "public";
  const takesKey = isWrite && (!route.multipart || route.key_required === true);
  return {
    operationId: route.id,
    summary: route.summary,
    tags: [route.tag],
    ...(route.access === "public" ? { security: [] } : {}),
    ...(route.multipart ? { consumes: ["multipart/form-data"] } : {}),
    ...(route.form ? { consumes: ["application/json", "multipart/form-data"] } : {}),
    ...(route.params ? { params: route.params } : {}),
    ...(route.query ? { querystring: route.query } : {}),
    ...(route.body ? { body: bodyOf(route) } : {}),
    ...(takesKey ? { headers: idempotencyHeader(route.key_required === true) } : {}),
    response: { ...responsesOf(route), ...errorsOf(route) },
  };
}

function bodyOf({ body, form }: Route) {
  if (!form) return body;
  return {
    content: { "application/json": { schema: body }, "multipart/form-data": { schema: form } },
  };
}

/** Documented here; checked by idempotency.ts, before the body's shape. */
const idempotencyHeader = (required: boolean) => ({
  type: "object",
  ...(required ? { required: ["idempotency-key"] } : {}),
  properties: {
    "idempotency-key": {
      type: "string",
      description: "A retry with the same key gets the original answer and has no second effect",
    },
  },
});

const integerHeader = (description: string) => ({ type: "integer", description });
const rate_headers = {
  "RateLimit-Limit": integerHeader("How many of these requests a minute the account may send"),
  "RateLimit-Remaining": integerHeader("How many are left in the present window"),
  "RateLimit-Reset": integerHeader("Whole seconds until the window ends"),
};

function responsesOf(route: Route): Record<string, unknown> {
  const headers = route.rate_limit ? { headers: rate_headers } : {};
  return Object.fromEntries(
    Object.entries(route.success).map(([status, schema]): [string, unknown] => {
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
      return [status, { description: route.summary, ...schema, ...headers }];
    }),
  );
}

function errorsOf(route: Route): Record<string, unknown> {
  const content = route.renderError
    ? { "application/json": { schema: route.error ?? {} } }
    : { "application/problem+json": { schema: { $ref: "Problem#" } } };
  const headers = route.rate_limit ? { headers: rate_headers } : {};
  return {
    "4xx": { description: "What was wrong with the request", content, ...headers },
    "5xx": { description: "What was wrong on our side", content, ...headers },
  };
}
