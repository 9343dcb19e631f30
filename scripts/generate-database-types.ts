// `npm run db:types [-- --check]`: the types of the schema as the migrations make it, read from a
// database that was migrated just now; with --check it writes nothing and fails when they differ.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { databaseUrl, template_database } from "../test/support/database.ts";
import { globalSetup, globalTeardown } from "../test/support/global-setup.ts";

const root = join(import.meta.dirname, "..");
/** As the pool's parsers read them: see server/lib/database/database.ts. */
const typescriptTypes = { int8: "number", timestamptz: "Date", json: "unknown", jsonb: "unknown" };

await globalSetup();
try {
  const settings = [
    ["--dialect", "postgres"],
    ["--url", databaseUrl(template_database)],
    ["--exclude-pattern", "migrations"],
    ["--type-mapping", JSON.stringify(typescriptTypes)],
    ["--log-level", "error"],
    ["--out-file", join(root, "server/lib/database/database-types.ts")],
    process.argv.includes("--check") ? ["--verify"] : [],
  ];
  const codegen = join(root, "node_modules/.bin/kysely-codegen");
  const { status } = spawnSync(process.execPath, [codegen, ...settings.flat()], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
} finally {
  await globalTeardown();
}
