// `npm run api:types`: generates the console's types of the API from its OpenAPI document, for editors and `npm run check`.
// The generator has its own folder, because it needs an older TypeScript.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fastify from "fastify";
import { openApiSchema, publishOpenApi } from "../server/api/openapi.ts";
import { Problem } from "../server/lib/schemas.ts";
import { routes } from "../server/api/routes.ts";

const root = join(import.meta.dirname, "..");
const tool = join(import.meta.dirname, "api-types");
const types = join(root, "console/api/api-types.ts");

const directory = mkdtempSync(join(tmpdir(), "trunkline-api-types-"));
const document = join(directory, "openapi.json");
writeFileSync(document, JSON.stringify(await describeRoutes()));
if (!existsSync(join(tool, "node_modules"))) run("npm", ["ci", "--silent", "--prefix", tool]);
run(join(tool, "node_modules/.bin/openapi-typescript"), [document, "-o", types]);
rmSync(directory, { recursive: true });

/** Returns the document as the service publishes it, without a database. */
async function describeRoutes(): Promise<unknown> {
  const server = fastify();
  server.setValidatorCompiler(() => () => true);
  server.setSerializerCompiler(() => () => "");
  server.addSchema(Problem);
  await publishOpenApi(server);
  for (const route of routes) {
    const { method, url } = route;
    server.route({ method, url, schema: openApiSchema(route), handler: () => null });
  }
  await server.ready();
  return server.swagger();
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${stderr}`);
}
