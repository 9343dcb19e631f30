import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { cloneDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { signalPostgres } from "../support/signal-postgres.ts";
import { startService } from "../support/service-process.ts";
import { demoOwner, startLeadLoad, type LeadLoad } from "./lead-load.ts";

/** Waits until `more` further leads are acknowledged. */
const awaitAcknowledged = async (load: LeadLoad, more: number) => {
  const goal = load.acknowledged() + more;
  await eventually(() => load.acknowledged() >= goal);
};

test("no acknowledged lead is lost and none with an idempotency key is duplicated while processes are killed under load", async () => {
  const database = await cloneDatabase();
  const services = await Promise.all([
    startService({ DATABASE_URL: database.url }),
    startService({ DATABASE_URL: database.url }),
  ]);
  const findSeeder = () => services.find(({ output }) => output().includes("just created"));
  await eventually(() => findSeeder() !== undefined);
  const seeder = findSeeder()!;
  const load = startLeadLoad(await demoOwner(seeder), () => services.map(({ url }) => url));
  for (let kill = 0; kill < 5; kill++) {
    await awaitAcknowledged(load, 50 + Math.floor(Math.random() * 200));
    const victim = services[kill % 2]!;
    victim.kill("SIGKILL");
    await victim.ended();
    services[kill % 2] = await startService({ DATABASE_URL: database.url });
    if (victim !== seeder) await victim.dispose();
  }
  await load.stop();
  await load.checkInvariants(database.url);
  for (const service of new Set([...services, seeder])) await service.dispose();
  await database.drop();
});

test("a restart of PostgreSQL under load ends no process and loses no acknowledged lead", async () => {
  const dataDir = scratchFolder("trunkline-restart-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  const { url } = postgres;
  const services = [
    await startService({ DATABASE_URL: url }),
    await startService({ DATABASE_URL: url }),
  ];
  const load = startLeadLoad(await demoOwner(services[0]!), () =>
    services.map((service) => service.url),
  );
  for (let restart = 0; restart < 2; restart++) {
    await awaitAcknowledged(load, 200);
    await postgres.stop();
    postgres = await start();
    assert.equal(postgres.url, url);
  }
  await awaitAcknowledged(load, 200);
  await load.stop();
  await load.checkInvariants(url);
  assert.deepEqual([...load.statuses()], [503]);
  for (const service of services) {
    assert.equal((await service.send("GET", "/health/ready")).status, 200);
    await service.dispose();
  }
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});

test("requests get 503 while PostgreSQL is frozen, and succeed after it resumes", async () => {
  const dataDir = scratchFolder("trunkline-freeze-");
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => {} });
  const service = await startService({ DATABASE_URL: postgres.url });
  const load = startLeadLoad(await demoOwner(service), () => [service.url]);
  await awaitAcknowledged(load, 100);
  signalPostgres(postgres.pid, "SIGSTOP");
  await eventually(() => load.statuses().has(503));
  assert.equal((await service.send("GET", "/health/live")).status, 200);
  await eventually(async () => (await service.send("GET", "/health/ready")).status === 503);
  signalPostgres(postgres.pid, "SIGCONT");
  await awaitAcknowledged(load, 100);
  await load.stop();
  await load.checkInvariants(postgres.url);
  await service.dispose();
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});
