// OpenAPI 3.1 at /openapi.json, generated from the schemas that validate, and a docs page at /docs.
import fastifySwagger from "@fastify/swagger";
import type { FastifyInstance, FastifySchema } from "fastify";
import { openSharedReads } from "./shared-reads.ts";
import { rows_of_request_max } from "../lib/database/cursor.ts";
import { publishDocsPage } from "./docs-page.ts";
import { prepareDocument } from "./documents.ts";
import type { Route } from "./route.ts";
import { session_cookie } from "./checks/session-cookie.ts";
import { describeWebhooks } from "./describe-webhooks.ts";
import { nameComponents } from "./name-components.ts";

/** The rules that hold for all routes. */
const introduction = `CRM leads, bulk WhatsApp campaigns, voice campaigns and click-to-call.

- Every request carries \`Authorization: Bearer <ACCESS_TOKEN>\`.
- Fields under \`/api/v1/crm\` are camelCase, all others snake_case. Unknown fields in a body, a query or a
  form are refused.
- Lists answer \`{data, nextCursor}\` under \`/api/v1/crm\`, \`{data, next_cursor}\` elsewhere: send the cursor
  back as \`cursor\` for the next page, until it is null. A page of a filtered list searches
  ${rows_of_request_max.toLocaleString("en-US")} rows at most: it may have fewer than \`limit\` or none although a
  next page has more. \`limit\` is at most 200, of a report 1,000.
- Times in answers are UTC. A time without an offset is in the account's time zone.
- A write may carry an \`Idempotency-Key\`: repeated with the same key and body, it returns the same answer and has
  no second effect. The exceptions, which document no such header: uploads of suppressions, group members and media,
  the fetching of templates, and changes of one's own password, second factor, passkeys and session.
- Errors are \`application/problem+json\`, and a 422 names every invalid field at once, up to 100; the
  detail says when there are more. Errors of
  click-to-call are \`{status, message}\`.
- Requests a minute are limited for each token and account: responses carry the \`RateLimit\` headers, and beyond
  a limit the answer is 429 with \`Retry-After\`.
- A body may have at most 1 MB, group members 4 MB, a template's media and a voice campaign 16 MB, an audio file 50 MB,
  a chat campaign 64 MB, a CSV file 256 MB.`;

/** The tags of the routes, in the order in which the docs page shows them. */
const tags = [
  ["Leads", "Create, search and change leads"],
  ["Import and export", "Import leads from CSV and export them to CSV"],
  ["Contacts", "The people of the leads: one contact for each phone number of a workspace"],
  ["Workspaces", "Workspaces, each with its own picklists, custom fields, contacts and leads"],
  ["Picklists", "The statuses, sources and priorities of leads"],
  ["Custom fields", "Fields that a workspace adds to its leads"],
  ["Chat campaigns", "Bulk messages, created and sent in one request"],
  ["Chat numbers", "The business numbers that campaigns are sent from"],
  ["Chat templates", "Message templates and their approval by the provider"],
  ["Chat flows", "Reusable opening messages of conversations"],
  ["Automation flows", "Reusable opening messages of automations"],
  ["Chat replies", "Replies of customers"],
  ["Chat holds", "Holds that keep messages from being sent"],
  ["Voice", "Voice campaigns, and the files, menus and AI agents that they use"],
  ["Calls", "Click-to-call, call records, recordings and call control"],
  ["Extensions", "The phones of agents"],
  ["Agent groups", "Ordered groups of agents that are rung when an agent does not answer"],
  [
    "Agent numbers",
    "The phones that may be rung as agents, beside extensions and members of groups",
  ],
  ["Voice nodes", "The telephone switches that place calls; for operators"],
  ["Trunks", "The connections to carriers; for operators"],
  ["Phone numbers", "Phone numbers assigned to accounts, and where their incoming calls go"],
  ["Suppressions", "Phone numbers that must not be messaged or called"],
  ["Groups", "Saved groups of people"],
  ["Account", "The account and its settings"],
  ["Users", "The users of the account"],
  ["Roles", "Roles and their permissions"],
  ["Tokens", "Access tokens"],
  ["Sessions", "Signing in to the console, and who is signed in"],
  ["Credits", "Credit balances and their ledger"],
  ["Reports", "Counts of messages and calls by campaign, day, number and agent"],
  ["Callbacks", "Callback endpoints, their deliveries and replays"],
  ["Live events", "The account's events as a stream of server-sent events"],
  ["People", "What the account knows under one phone number, over all features"],
  ["Saved views", "Named filters and columns of a list, of one user or shared in the account"],
  ["Erasures", "Erasure of a person's data"],
  ["Provider webhooks", "Webhooks of chat providers; signed by the provider, without a token"],
  ["Audit trail", "The record of every change: who, what and when"],
  ["System", "Health, metrics and this document; without a token"],
] as const;

/** Publishes the document and the docs page. Must run before the routes are registered. */
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
      // Relative, so that requests tried on the docs page go to the server of the page.
      servers: [{ url: "/" }],
      webhooks: describeWebhooks(),
      components: {
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer" },
          session: { type: "apiKey", in: "cookie", name: session_cookie },
        },
      },
      security: [{ bearer: [] }],
    },
    transformObject: (built) =>
      nameComponents("openapiObject" in built ? built.openapiObject : {}, shared_components),
    refResolver: {
      buildLocalReference: (json, _base, _fragment, i) =>
        typeof json["$id"] === "string" ? json["$id"] : `def-${i}`,
    },
  });
  publishDocsPage(server);
}

/** Returns the document of a server, generated and compressed on the first request. */
export const openApiDocument = openSharedReads(
  Number.POSITIVE_INFINITY,
  async (server: FastifyInstance) =>
    prepareDocument(
      Buffer.from(JSON.stringify(server.swagger())),
      "application/json; charset=utf-8",
    ),
);

/** The schemas by which Fastify validates, serializes and documents a route. */
export function openApiSchema(route: Route): FastifySchema {
  const isWrite = route.method !== "GET" && route.access !== "public";
  const takesKey =
    isWrite && !route.takes_no_key && (!route.multipart || route.parse !== undefined);
  return {
    operationId: route.id,
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    tags: [route.tag],
    ...securityOf(route),
    ...(route.multipart ? { consumes: ["multipart/form-data"] } : {}),
    ...(route.form ? { consumes: ["application/json", "multipart/form-data"] } : {}),
    ...(route.params ? { params: route.params } : {}),
    ...(route.query ? { querystring: route.query } : {}),
    ...(route.body ? { body: bodyOf(route) } : {}),
    ...(takesKey ? { headers: idempotencyHeader(route.key_required === true) } : {}),
    response: { ...responsesOf(route), ...errorsOf(route) },
  };
}

/** The pages of the console send the session's cookie to every route; only these accept nothing else. */
function securityOf({ access }: Route) {
  if (access === "public") return { security: [] };
  return access.anyOf === "session" ? { security: [{ session: [] }] } : {};
}

function bodyOf({ body, form }: Route) {
  if (!form) return body;
  return {
    content: { "application/json": { schema: body }, "multipart/form-data": { schema: form } },
  };
}

/** Documents the header; idempotency.ts checks it, before the body is validated. */
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
  "RateLimit-Limit": integerHeader(
    "Requests a minute: of the token or account, whichever limit is closer, or of the endpoint's own limit",
  ),
  "RateLimit-Remaining": integerHeader("Requests left in the current window"),
  "RateLimit-Reset": integerHeader("Seconds until the window ends, rounded up"),
};

const problem = {
  "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
};
const limited = {
  headers: Object.fromEntries(
    Object.entries(rate_headers).map(([name, { type, description }]) => [
      name,
      { schema: { type }, description },
    ]),
  ),
};

/** What many operations have in common, as the document shows it. */
const shared_components = {
  ...limited,
  responses: {
    ClientError: { description: "Client error", content: problem, ...limited },
    ServerError: { description: "Server error", content: problem, ...limited },
    PublicClientError: { description: "Client error", content: problem },
    PublicServerError: { description: "Server error", content: problem },
  },
};

function responsesOf(route: Route): Record<string, unknown> {
  const headers = route.access === "public" ? {} : { headers: rate_headers };
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
  const headers = route.access === "public" ? {} : { headers: rate_headers };
  return {
    "4xx": { description: "Client error", content, ...headers },
    "5xx": { description: "Server error", content, ...headers },
  };
}
