// `npm run db:types [-- --check]`: records the revisions of the SQL functions and generates the types
// of the schema from a newly migrated database; with --check it writes nothing and fails on a difference.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { databaseUrl, template_database } from "../test/support/database.ts";
import { globalSetup, globalTeardown } from "../test/support/global-setup.ts";
import { recordFunctionRevisions } from "./lib/record-function-revisions.ts";

const check = process.argv.includes("--check");
const root = join(import.meta.dirname, "..");
/** As the pool's parsers read them: see server/lib/database/database.ts. */
const typescriptTypes = { int8: "number", timestamptz: "Date", json: "unknown", jsonb: "unknown" };

const recorded = recordFunctionRevisions(join(root, "migrations"), { check });
await globalSetup();
try {
  const settings = [
    ["--dialect", "postgres"],
    ["--url", databaseUrl(template_database)],
    ["--exclude-pattern", "{migrations,migration_contracts,migration_steps,schema_functions}"],
    ["--type-mapping", JSON.stringify(typescriptTypes)],
    ["--log-level", "error"],
    ["--out-file", join(root, "server/lib/database/database-types.ts")],
    check ? ["--verify"] : [],
  ];
  const codegen = join(root, "node_modules/.bin/kysely-codegen");
  const { status } = spawnSync(process.execPath, [codegen, ...settings.flat()], {
    stdio: "inherit",
  });
  process.exitCode = recorded ? (status ?? 1) : 1;
} finally {
  await globalTeardown();
}
