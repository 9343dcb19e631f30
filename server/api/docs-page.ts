// The docs page at /docs: Swagger UI, rendered and compressed on the first request.
import fastifySwagger from "@fastify/swagger";
import fastifySwaggerUi from "@fastify/swagger-ui";
import Fastify, { type FastifyInstance } from "fastify";
import { openSharedReads } from "./shared-reads.ts";
import { prepareDocument, sendDocument, type Document } from "./documents.ts";

/** The page loads nothing from elsewhere; some of its styles are inline. */
const docs_page_policy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** Swagger UI sets no viewport: without it the page is far too small on a phone. */
const fit_small_screens =
  "const meta = document.createElement('meta'); meta.name = 'viewport'; " +
  "meta.content = 'width=device-width, initial-scale=1'; document.head.append(meta);";

/** The page's address has relative links with a trailing slash, absolute ones without. */
const paths = [
  "/docs",
  "/docs/",
  "/docs/json",
  "/docs/yaml",
  "/docs/static/favicon-16x16.png",
  "/docs/static/favicon-32x32.png",
  "/docs/static/index.css",
  "/docs/static/oauth2-redirect.html",
  "/docs/static/oauth2-redirect.js",
  "/docs/static/swagger-initializer.js",
  "/docs/static/swagger-ui-bundle.js",
  "/docs/static/swagger-ui-standalone-preset.js",
  "/docs/static/swagger-ui.css",
  "/docs/static/theme/page.css",
  "/docs/static/theme/page.js",
];

/** Publishes the page, which shows the document of the server. */
export function publishDocsPage(server: FastifyInstance): void {
  // The router ignores a trailing slash.
  for (const url of paths.filter((path) => path !== "/docs/"))
    server.get(url, { schema: { hide: true } }, async (request, reply) => {
      const files = await renderFiles(request.server);
      const path = request.url.split("?", 1)[0]!;
      void reply.header("content-security-policy", docs_page_policy);
      return sendDocument(files.get(path) ?? files.get(url)!, request, reply);
    });
}

/** A server of its own renders the files once: the plugin would read and serialize them for every request. */
const renderFiles = openSharedReads(Number.POSITIVE_INFINITY, async (of: FastifyInstance) => {
  const server = Fastify();
  const document = structuredClone(of.swagger()) as never;
  await server.register(fastifySwagger, { mode: "static", specification: { document } });
  await server.register(fastifySwaggerUi, {
    routePrefix: "/docs",
    theme: {
      title: "Trunkline API",
      css: [{ filename: "page.css", content: ".swagger-ui .topbar { display: none }" }],
      js: [{ filename: "page.js", content: fit_small_screens }],
    },
    uiConfig: { persistAuthorization: true, docExpansion: "list", displayRequestDuration: true },
  });
  const files = paths.map(async (path): Promise<[string, Document]> => {
    const { headers, rawPayload } = await server.inject(path);
    return [path, await prepareDocument(rawPayload, String(headers["content-type"]))];
  });
  const rendered = new Map(await Promise.all(files));
  await server.close();
  return rendered;
});
