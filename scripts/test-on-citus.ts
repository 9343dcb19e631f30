// Runs `trunkline distribute`, the contract and further files given as arguments on a Citus, whose nodes
// CITUS_TEST_URLS names: the coordinator first, then the workers. Each test file has a database of its own on them.
import { spawnSync } from "node:child_process";

const nodes = process.env["CITUS_TEST_URLS"]?.split(/\s+/) ?? [];
if (nodes.length < 2) {
  console.error(
    "CITUS_TEST_URLS must name the coordinator and the workers of a Citus, separated by spaces: " +
      "postgres://user@127.0.0.1:5432/postgres postgres://user@127.0.0.1:5433/postgres",
  );
  process.exit(1);
}
const given = process.argv.slice(2);
const files = given.length > 0 ? given : ["test/citus/*.test.ts", "test/contract/*.test.ts"];
const { status } = spawnSync(
  "npm",
  ["run", "-s", "test:run", "--", "--test-concurrency=2", "--test-timeout=900000", ...files],
  { stdio: "inherit", env: { ...process.env, TEST_DATABASE_URL: nodes[0] } },
);
process.exit(status ?? 1);
