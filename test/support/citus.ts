// Databases on the nodes of a Citus: CITUS_TEST_URLS names them, separated by spaces, the coordinator first.
import pg from "pg";
import { runCommandLine } from "../../server/cli/run-command-line.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { test_secret_key } from "./secrets.ts";

/** Few, so that a test's database is ready in seconds. */
const shards = 2;

/** Returns the URLs of the nodes, with a database; none unless tests run on Citus. */
export function citusUrls(database: string): string[] {
  const nodes = (process.env["CITUS_TEST_URLS"] ?? "").split(/\s+/).filter((url) => url !== "");
  return nodes.map((node) => {
    const url = new URL(node);
    url.pathname = `/${database}`;
    return url.href;
  });
}

/** Creates Citus in the database, which exists on each node, and adds the workers. */
export async function addNodes(urls: readonly string[]): Promise<void> {
  for (const url of urls) await runOn(url, "create extension citus");
  const [coordinator, ...workers] = urls.map((url) => new URL(url));
  await runOn(
    coordinator!.href,
    "select citus_set_coordinator_host($1, $2)",
    address(coordinator!),
  );
  for (const worker of workers)
    await runOn(coordinator!.href, "select citus_add_node($1, $2)", address(worker));
}

/** Migrates and distributes the coordinator's database. */
export async function migrateAndDistribute(url: string): Promise<void> {
  await migrate(url);
  const env = { DATABASE_URL: url, TRUNKLINE_SECRET_KEY: test_secret_key };
  const { code, stderr } = await runCommandLine(["distribute", "--shards", String(shards)], env);
  if (code !== 0) throw new Error(`trunkline distribute failed: ${stderr}`);
}

function address({ hostname, port }: URL): [string, string] {
  return [hostname, port === "" ? "5432" : port];
}

async function runOn(url: string, text: string, values: unknown[] = []): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text, values);
  } finally {
    await client.end();
  }
}
