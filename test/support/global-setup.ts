// Runs once before all test files: starts PostgreSQL and creates the migrated template that each file
// clones. TEST_DATABASE_URL names a server to use instead of the embedded one.
import { rm } from "node:fs/promises";
import pg from "pg";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { databaseUrl, template_database } from "./database.ts";
import { scratchFolder } from "./scratch-folder.ts";

let undo = async () => {};

export async function globalSetup(): Promise<void> {
  const given = process.env["TEST_DATABASE_URL"];
  if (!given) {
    const dataDir = scratchFolder("trunkline-test-");
    const postgres = await startEmbeddedPostgres({ dataDir, log: () => {}, maxConnections: 300 });
    process.env["TEST_DATABASE_URL"] = postgres.url;
    undo = async () => {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    };
  }
  const admin = new pg.Client({ connectionString: process.env["TEST_DATABASE_URL"] });
  await admin.connect();
  if (!given) await speedUp(admin);
  await admin.query(`drop database if exists ${template_database}`);
  await admin.query(`create database ${template_database}`);
  await admin.end();
  await migrate(databaseUrl(template_database));
}

/** Only a power cut would lose anything by it. */
async function speedUp(admin: pg.Client): Promise<void> {
  await admin.query("alter system set fsync = off");
  await admin.query("select pg_reload_conf()");
}

export async function globalTeardown(): Promise<void> {
  await undo();
}
