// Measures what a service with nothing to do asks of its database, with a voice node and many idle accounts, each with a
// chat number and a callback endpoint: `npm --prefix bench run idle`; `-- --smoke` for a small run.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { startEmbeddedPostgres } from "../server/embedded-postgres/start-embedded-postgres.ts";
import { makeAccount } from "../test/support/account-factory.ts";
import { makeEndpoint } from "../test/support/callback-factory.ts";
import { makeChatNumber } from "../test/support/chat-factory.ts";
import { startService } from "../test/support/service-process.ts";
import { makeNode, makeTrunk } from "../test/support/telephony-factory.ts";
import { openBenchApp } from "./lib/open-bench-app.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke ? { accounts: 50, seconds: 5 } : { accounts: 5_000, seconds: 60 };
/** What starts with the service has ended by then, and the loops that poll each minute have polled. */
const settling_ms = 65_000;
const lanes = 8;

type Statement = { query: string; calls: number; ms: number; blocks: number };

/** New accounts are due at once, which takes an hour; later a visit of each is due at any time within six. */
const spread_visits = `
  update accounts set retention_due_at = now() + random() * interval '6 hours',
    recordings_due_at = now() + random() * interval '6 hours',
    report_due_at = now() + random() * interval '6 hours'`;

const statements = `
  select regexp_replace(query, '\\s+', ' ', 'g') as query, calls::int, total_exec_time as ms,
    (shared_blks_hit + shared_blks_read)::int as blocks
  from pg_stat_statements where query not like '%pg_stat_statements%' order by calls desc`;

await runBench("idle", smoke, async (bench) => {
  const database_url = await startWithStatistics(bench);
  const app = openBenchApp(database_url);
  bench.defer(() => app.close());
  // The service brings the database up to date.
  const env = { DATABASE_URL: database_url, TRUNKLINE_SEED: "none" };
  const service = await startService({ ...env, DATA_DIR: join(bench.data_dir, "service") });
  bench.defer(() => service.dispose());
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let n = lane; n < size.accounts; n += lanes) {
        const account = await makeAccount(app);
        await makeChatNumber(app, account);
        await makeEndpoint(app, account);
      }
    }),
  );
  await makeTrunk(app, [await makeNode(app)]);
  const db = new pg.Client({ connectionString: database_url });
  await db.connect();
  bench.defer(() => db.end());
  await db.query(spread_visits);
  await db.query("vacuum analyze");
  await wait(settling_ms);
  await db.query("select pg_stat_statements_reset()");
  await wait(size.seconds * 1_000);
  const { rows } = await db.query<Statement>(statements);
  return report(rows, bench.machine);
});

/** Starts PostgreSQL again with the extension that counts statements; returns its URL. */
async function startWithStatistics({ data_dir, postgres, defer }: Bench): Promise<string> {
  const db = new pg.Client({ connectionString: postgres.url });
  await db.connect();
  await db.query("alter system set shared_preload_libraries = 'pg_stat_statements'");
  await db.query("create extension pg_stat_statements");
  await db.end();
  await postgres.stop();
  const started = await startEmbeddedPostgres({ dataDir: join(data_dir, "db"), log: () => {} });
  defer(() => started.stop());
  return started.url;
}

function report(rows: readonly Statement[], machine: readonly string[]): string {
  const sumOf = (value: (row: Statement) => number) =>
    rows.reduce((sum, row) => sum + value(row), 0);
  const aSecond = (amount: number) => (amount / size.seconds).toFixed(2);
  const lines = rows
    .slice(0, 25)
    .map(
      ({ query, calls, ms, blocks }) =>
        `| ${aSecond(calls)} | ${aSecond(ms)} | ${Math.round(blocks / calls)} | ${query.slice(0, 100).replaceAll("|", "\\|")} |`,
    );
  return [
    `# An idle service with ${size.accounts} accounts, ${size.seconds} s`,
    "",
    ...machine,
    "",
    "| | a second | aim |",
    "|---|---|---|",
    `| statements | ${aSecond(sumOf(({ calls }) => calls))} | 10 |`,
    `| ms of the database | ${aSecond(sumOf(({ ms }) => ms))} | 2 |`,
    "",
    "| calls a second | ms a second | blocks a call | statement |",
    "|---|---|---|---|",
    ...lines,
    "",
  ].join("\n");
}
