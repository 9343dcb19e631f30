import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { afterEach, test } from "node:test";
import pg from "pg";
import type { Demo } from "../../server/seed-demo/demo-file.ts";
import { cloneDatabase, type TestDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";

let database: TestDatabase;
let service: ServiceProcess;
let demo: Demo;
const locks: pg.Client[] = [];

async function start(): Promise<void> {
  database = await cloneDatabase();
  service = await startService({ DATABASE_URL: database.url });
  demo = JSON.parse(await readFile(`${service.data_dir}/demo.json`, "utf8")) as Demo;
}

afterEach(async () => {
  for (const lock of locks.splice(0)) await lock.end();
  await service.dispose();
  await database.drop();
});

const create = (phone: string) =>
  service.send("POST", `/api/v1/crm/workspaces/${demo.workspace_id}/leads/create`, {
    token: demo.tokens["account"],
    json: { phone },
  });

/** Locks the leads table, so that lead creations stay in flight until the lock is released. */
async function holdLeads(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("begin");
  await client.query("lock table leads in access exclusive mode");
  locks.push(client);
  return client;
}

async function waitsForLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
  );
  return rows.length > 0;
}

test("on SIGTERM a request in flight finishes, new requests are refused, and the process exits with code 0", async () => {
  await start();
  assert.equal((await create("9000000002")).status, 201);
  const lock = await holdLeads();
  const inFlight = create("9000000003");
  await eventually(() => waitsForLock(lock));
  service.kill("SIGTERM");
  await eventually(async () => {
    const refused = await service.send("GET", "/health/live").catch(() => null);
    return refused === null || refused.status === 503;
  });
  await lock.query("commit");
  assert.equal((await inFlight).status, 201);
  assert.equal(await service.ended(), 0);
});

test("a request that never ends delays the exit by at most 10 s and does not stop a sender from draining, and a second signal changes nothing", async () => {
  await start();
  const { chat_number_id, template_id } = demo;
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  locks.push(client);
  // Slow enough that the campaign is still running.
  await client.query("update chat_numbers set rate_per_second = 1 where id = $1", [chat_number_id]);
  const sender = async () => {
    const { rows } = await client.query<{ holder: string | null }>(
      "select holder from leases where name like 'chat_sender:%'",
    );
    return rows[0]?.holder ?? null;
  };
  const contacts = Array.from({ length: 60 }, (_, i) => ({ phone_number: `9198000000${i + 10}` }));
  const campaign = await service.send("POST", "/api/v1/chat/campaigns", {
    token: demo.tokens["account"],
    headers: { "idempotency-key": "lasts" },
    json: { name: "Lasts", chat_number_id, template_id, contacts },
  });
  assert.equal(campaign.status, 201, campaign.text);
  await eventually(async () => (await sender()) !== null);
  const lock = await holdLeads();
  const stuck = create("9000000004").catch(() => null);
  await eventually(() => waitsForLock(lock));
  const signaled_at = performance.now();
  service.kill("SIGTERM");
  service.kill("SIGINT");
  // The lock is not released: the time limit of the shutdown ends the process.
  await service.ended();
  console.log(`ended after ${Math.round(performance.now() - signaled_at)} ms`);
  assert.equal(await sender(), null);
  await stuck;
});
