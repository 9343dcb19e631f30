import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { checkMigration } from "../../scripts/check/migrations.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import type { Demo } from "../../server/seed-demo/demo-file.ts";
import { cloneDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { fillLeads } from "../support/fill-depth.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";

const lead_rows = 200_000;
const clients = 8;
const longest_wait_ms = 500;

/** Each way to change a large table. */
const migrations = {
  "9901-score.sql": "alter table leads add column score int;",
  "9902-scores.sql": `-- transaction: per statement
    alter table leads alter column score set default 0;
    -- contract since 9901: the default satisfies it.
    alter table leads add constraint leads_score_check check (score is not null) not valid;
    update leads set score = 1 where score is null and batch_of(leads);
    alter table leads validate constraint leads_score_check;
    alter table leads alter column score set not null;
    alter table leads drop constraint leads_score_check;
    create index concurrently if not exists leads_by_score on leads (account_id, score);`,
  "9903-owner.sql": "alter table leads alter column score set default 1;",
};

test("while a table of 200,000 leads is migrated, no request that creates or lists leads fails or waits longer than 500 ms for a lock of the migration", async (t) => {
  const database = await cloneDatabase();
  const service = await startService({ DATABASE_URL: database.url });
  const [client, holder] = [await connect(database.url), await connect(database.url)];
  await fill(client, service);
  const dir = await migrationsFolder();
  const load = await startLoad(service);
  const waits = startLockWatch(await connect(database.url));
  await eventually(() => load.times().length > 100);

  await holder.query("begin; select from leads limit 1");
  const lines: string[] = [];
  const migrating = migrate(database.url, { dir, report: (line) => lines.push(line) });
  // Requests have queued behind the change of a table that another session uses.
  await eventually(() => lines.length >= 2 && waits.longest_ms() > 0);
  await holder.query("commit");
  assert.deepEqual(await migrating, Object.keys(migrations));

  const times = await load.stop();
  const longest_ms = await waits.stop();
  t.diagnostic(
    `${times.length} requests, the longest ${Math.round(Math.max(...times))} ms; ` +
      `the longest wait for a lock of the migration ${Math.round(longest_ms)} ms`,
  );
  assert.deepEqual([...load.failures()], []);
  assert.ok(longest_ms <= longest_wait_ms, `${longest_ms} ms`);
  const { rows } = await client.query<{ score: number; filled: boolean }>(
    "select score, count(*) >= $1 as filled from leads where score = 1 group by score",
    [lead_rows],
  );
  assert.deepEqual(rows, [{ score: 1, filled: true }]);
  await Promise.all([client.end(), holder.end()]);
  await service.dispose();
  await rm(dir, { recursive: true });
  await database.drop();
});

test("the migrations of this drill pass the check of migrations", () => {
  for (const [name, sql] of Object.entries(migrations))
    assert.deepEqual(checkMigration(sql), [], name);
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

const readDemo = async ({ data_dir }: ServiceProcess) =>
  JSON.parse(await readFile(`${data_dir}/demo.json`, "utf8")) as Demo;

async function fill(client: pg.Client, service: ServiceProcess): Promise<void> {
  const demo = await readDemo(service);
  const { rows } = await client.query<{ account_id: string; owner_id: string }>(
    `select account_id, u.id as owner_id from workspaces w join users u using (account_id)
     where w.id = $1 and u.is_owner`,
    [demo.workspace_id],
  );
  const owner = { account_id: Number(rows[0]!.account_id), owner_id: Number(rows[0]!.owner_id) };
  await fillLeads(client, { ...owner, workspace_id: demo.workspace_id }, lead_rows);
  await client.query("analyze leads, contacts");
}

async function migrationsFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "trunkline-migrations-"));
  await cp(join(import.meta.dirname, "../../migrations"), dir, { recursive: true });
  for (const [name, sql] of Object.entries(migrations)) await writeFile(join(dir, name), sql);
  return dir;
}

/** Creates leads and lists them by several clients until it is stopped. */
async function startLoad(service: ServiceProcess) {
  const { workspace_id, tokens } = await readDemo(service);
  const path = `/api/v1/crm/workspaces/${workspace_id}/leads`;
  const token = tokens["account"];
  const times: number[] = [];
  const failures = new Set<string>();
  let made = 0;
  const stopping = new AbortController();
  const run = async () => {
    while (!stopping.signal.aborted) {
      const number = ++made;
      const json = { phone: `98${String(number % 1_000).padStart(8, "0")}`, name: `${number}` };
      const began_ms = performance.now();
      const answer = await (number % 2 === 0
        ? service.send("POST", `${path}/create`, { token, json })
        : service.send("GET", path, { token }));
      times.push(performance.now() - began_ms);
      if (answer.status >= 300) failures.add(`${answer.status} ${answer.text}`);
    }
  };
  const running = Array.from({ length: clients }, run);
  return {
    times: () => times,
    failures: () => failures,
    async stop() {
      stopping.abort();
      await Promise.all(running);
      return times;
    },
  };
}

/** Measures how long any other session waits for a lock that the migrating session holds or waits for. */
function startLockWatch(client: pg.Client) {
  let longest_ms = 0;
  const stopping = new AbortController();
  const watch = async () => {
    while (!stopping.signal.aborted) {
      const { rows } = await client.query<{ ms: number }>(
        `select extract(epoch from clock_timestamp() - min(l.waitstart))::float8 * 1000 as ms
         from pg_locks l join pg_stat_activity w using (pid)
         where not l.granted and w.datname = current_database()
           and exists (select from unnest(pg_blocking_pids(l.pid)) b (pid) join pg_stat_activity m using (pid)
             where m.application_name = 'trunkline-migrate')`,
      );
      longest_ms = Math.max(longest_ms, rows[0]!.ms);
      await wait(20);
    }
  };
  const watching = watch();
  return {
    longest_ms: () => longest_ms,
    async stop() {
      stopping.abort();
      await watching;
      await client.end();
      return longest_ms;
    },
  };
}
