import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, stat } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import type { Demo } from "../../server/seed-demo/demo-file.ts";
import { cloneDatabase, emptyDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { test_secret_key } from "../support/secrets.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { spawnService, startService, type ServiceProcess } from "../support/service-process.ts";

test("two processes that start at once on an empty database migrate and seed it once; each token of the demo file works as its name says, the printed commands read a token, which is never printed, and create a lead, and the printed link signs in once", async () => {
  const database = await emptyDatabase();
  const services = await Promise.all([
    startService({ DATABASE_URL: database.url }),
    startService({ DATABASE_URL: database.url }),
  ]);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    "select name from accounts order by account_id",
  );
  await client.end();
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["Demo", "Demo, second account", "Demo, low on credit", "Demo, restricted at night"],
  );
  // A service prints this after it answers.
  const printed = () => services.find(({ output }) => output().includes("just created"));
  await eventually(async () => printed() !== undefined);
  const seeder = printed()!;
  await checkDemo(seeder);
  await checkCurl(seeder);
  await checkLink(seeder);
  for (const service of services) await service.dispose();
  await database.drop();
});

/** Checks that only its owner can read the demo file, and what each token of it may do. */
async function checkDemo(service: ServiceProcess): Promise<void> {
  const file = `${service.data_dir}/demo.json`;
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const demo = JSON.parse(await readFile(file, "utf8")) as Demo;
  const expected: Record<string, number> = {
    account: 201,
    agent: 201,
    agent_no_voice: 201,
    agent_no_role: 403,
    no_permission: 403,
    other_account: 404,
    low_credit: 403,
    night_restricted: 403,
    expired: 401,
    revoked: 401,
  };
  assert.deepEqual(Object.keys(demo.tokens).toSorted(), Object.keys(expected).toSorted());
  for (const [name, token] of Object.entries(demo.tokens)) {
    const answer = await service.send(
      "POST",
      `/api/v1/crm/workspaces/${demo.workspace_id}/leads/create`,
      {
        token,
        json: {
          phone: "9876543210",
          contactId: demo.contact_id,
          assignedAgentId: demo.agent_id,
          statusId: demo.status_id,
          sourceId: demo.source_id,
          priorityId: demo.priority_id,
          customFields: { [demo.custom_field_key]: "hello" },
        },
      },
    );
    assert.equal(answer.status, expected[name], `${name}: ${answer.text}`);
  }
}

async function checkLink({ output, send }: ServiceProcess): Promise<void> {
  const [, link] = /Console .*\/sign-in#(\S+)/.exec(output())!;
  const headers = { "sec-fetch-site": "same-origin" };
  const use = () => send("POST", "/api/v1/session/link", { headers, json: { link } });
  assert.deepEqual([(await use()).status, (await use()).status], [200, 401]);
}

async function checkCurl(service: ServiceProcess): Promise<void> {
  const [, url] = /curl -X POST (\S+)/.exec(service.output())!;
  const [, command] = /(TOKEN=.*)/.exec(service.output())!;
  const demo = JSON.parse(await readFile(`${service.data_dir}/demo.json`, "utf8")) as Demo;
  for (const text of Object.values(demo.tokens)) assert.ok(!service.output().includes(text));
  const { stdout } = await promisify(execFile)("sh", ["-c", `${command}; printf %s "$TOKEN"`]);
  assert.equal(stdout, demo.tokens["account"]);
  const token = stdout;
  const [, body] = /-d '(.+)'/.exec(service.output())!;
  const path = new URL(url!).pathname;
  const answer = await service.send("POST", path, { token, json: JSON.parse(body!) });
  assert.equal(answer.status, 201);
}

test("invalid environment variables end the start with one message that names them all", async () => {
  const service = await spawnService({ PORT: "x", LOG_LEVEL: "loud" });
  assert.equal(await service.ended(), 1);
  assert.match(service.output(), /PORT: "x"[\s\S]*LOG_LEVEL: "loud"/);
  await service.dispose();
});

test("a start with a wrong key or without one is refused, and one with the right key works again", async () => {
  const database = await cloneDatabase();
  const env = { DATABASE_URL: database.url, TRUNKLINE_SEED: "demo", CALLBACK_ALLOW: "127.0.0.1" };
  const first = await startService(env);
  const demo = JSON.parse(await readFile(`${first.data_dir}/demo.json`, "utf8")) as Demo;
  const token = demo.tokens["account"]!;
  const json = { url: "http://127.0.0.1:1/hook" };
  const made = await first.send("POST", "/api/v1/callbacks/endpoints", { token, json });
  assert.equal(made.status, 201, made.text);
  const { id, secret } = made.body;
  await first.dispose();
  const none = await spawnService({ ...env, TRUNKLINE_SECRET_KEY: "" });
  assert.equal(await none.ended(), 1);
  assert.match(none.output(), /TRUNKLINE_SECRET_KEY: is required with DATABASE_URL/);
  const other = Buffer.alloc(32, "other").toString("base64");
  const wrong = await spawnService({ ...env, TRUNKLINE_SECRET_KEY: other });
  assert.equal(await wrong.ended(), 1);
  assert.match(
    wrong.output(),
    /no key opens these stored secrets: 1 of callback_endpoints\.secret/,
  );
  assert.ok(!wrong.output().includes(other));
  const right = await startService({ ...env, TRUNKLINE_SECRET_KEY: `${other},${test_secret_key}` });
  const read = await right.send("GET", `/api/v1/callbacks/endpoints/${id}/secret`, { token });
  assert.equal(read.body.secret, secret);
  await Promise.all([none, wrong, right].map((service) => service.dispose()));
  await database.drop();
});

test("a failed start prints its reason in one sentence and stops PostgreSQL", async () => {
  const blocker = createServer().listen(0, "127.0.0.1");
  await once(blocker, "listening");
  const { port } = blocker.address() as AddressInfo;
  const service = await spawnService({ PORT: String(port) });
  assert.equal(await service.ended(), 1);
  assert.match(service.output(), /^HOST and PORT: cannot listen on this address .*EADDRINUSE/m);
  await assert.rejects(stat(`${service.data_dir}/postgres/postmaster.pid`), { code: "ENOENT" });
  blocker.close();
  await service.dispose();
});

test("processes that start while the database is away wait for it, alive and not ready, and then work", async () => {
  const dataDir = scratchFolder("trunkline-start-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await postgres.stop();
  const url = (role: string) => `${postgres.url}?application_name=${role}`;
  const api = await spawnService({ ROLES: "api", DATABASE_URL: url("api") });
  const worker = await spawnService({ ROLES: "worker", DATABASE_URL: url("worker") });
  const services = [api, worker];
  await eventually(() =>
    services.every(({ output }) =>
      /the database is not available: .*ECONNREFUSED.*waiting/.test(output()),
    ),
  );
  const path = "/api/v1/clickToCallApis/clickToCall";
  const statusOf = async (method: "GET" | "POST", url_path: string) => {
    const options = method === "POST" ? { json: {} } : {};
    return (await api.send(method, url_path, options).catch(() => null))?.status;
  };
  await eventually(async () => (await statusOf("GET", "/health/live")) === 200);
  assert.equal(await statusOf("GET", "/health/ready"), 503);
  assert.equal(await statusOf("POST", "/api/v1/chat/campaigns"), 503);
  const call = await api.send("POST", path, { json: {} });
  assert.deepEqual(Object.keys(JSON.parse(call.text) as object), ["status", "message"]);

  postgres = await start();
  await eventually(async () => (await statusOf("GET", "/health/ready")) === 200);
  assert.equal(await statusOf("POST", path), 401);
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await eventually(async () => {
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int from pg_stat_activity where application_name = 'worker'",
    );
    return rows[0]!.count > 1;
  });
  await client.end();
  assert.match(worker.output(), /the database is available/);
  for (const service of services) await service.dispose();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
});

test("a process that starts while another migrates the database is alive and not ready, reports who migrates, and works after it", async () => {
  const database = await cloneDatabase();
  const client = new pg.Client({
    connectionString: `${database.url}?application_name=trunkline-migrate`,
  });
  await client.connect();
  await client.query("update schema_functions set checksum = '' where name = 'write_call'");
  await client.query("select pg_advisory_lock(7286542001)");
  const service = await spawnService({ DATABASE_URL: database.url, LOG_LEVEL: "info" });
  const statusOf = async (path: string) =>
    (await service.send("GET", path).catch(() => null))?.status;
  await eventually(async () => (await statusOf("/health/live")) === 200);
  assert.equal(await statusOf("/health/ready"), 503);
  assert.match(
    service.output(),
    /waiting for the lock for migrations, which is held by PostgreSQL session \d+ \(application_name trunkline-migrate/,
  );
  await client.end();
  await eventually(async () => (await statusOf("/health/ready")) === 200);
  await service.dispose();
  await database.drop();
});

test("a database that restarts while a process starts delays its start, and does not end it", async () => {
  const database = await cloneDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  // As a restart between the migrations and the first statement of the service.
  await client.query(`
    create sequence restarts;
    create function restart() returns trigger language plpgsql as $$ begin
      if nextval('restarts') <= 2 then
        raise exception using errcode = '57P01', message = 'terminating connection';
      end if;
      return new;
    end $$;
    create trigger restarts before insert on database_identity for each row execute function restart()`);
  await client.end();
  const service = await startService({ DATABASE_URL: database.url });
  assert.equal((await service.send("GET", "/health/ready")).status, 200);
  assert.match(service.output(), /the database is not available: terminating connection/);
  assert.match(service.output(), /the database is available/);
  await service.dispose();
  await database.drop();
});
