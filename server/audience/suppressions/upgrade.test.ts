// The upgrade of suppressions and group members to keys and sources, on the schema before it.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { emptyDatabase, type TestDatabase } from "../../../test/support/database.ts";

const migrations_dir = join(import.meta.dirname, "../../../migrations");
const upgrade = "0030-suppression-sources.sql";
let database: TestDatabase;
let client: pg.Client;

before(async () => {
  database = await emptyDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const files = (await readdir(migrations_dir)).filter((name) => /^\d{4}-.*\.sql$/.test(name));
  for (const name of files.toSorted()) if (name < upgrade) await run(name);
});
after(async () => {
  await client.end();
  await database.drop();
});

async function run(name: string): Promise<void> {
  await client.query(await readFile(join(migrations_dir, name), "utf8"));
}

test("an upgrade keeps every suppression, restores stops that another source had absorbed, and merges spellings", async () => {
  const suppression = (phone: string, source: string, expires_at: string | null = null) =>
    client.query(
      `insert into suppressions (account_id, phone, channel, reason, source, expires_at, created_at)
       values (1, $1, 'chat', $2, $2, $3, '2026-11-01')`,
      [phone, source, expires_at],
    );
  const reply = (phone: string, opted_out: boolean) =>
    client.query(
      `insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, type, text, opted_out,
         received_at)
       values (1, 1, 'wamid.' || $1, $1, 'text', 'STOP', $2, '2026-11-02')`,
      [phone, opted_out],
    );
  await suppression("5551987654321", "reply");
  await suppression("555187654321", "reply", "2026-11-03");
  await suppression("919800000001", "provider");
  await reply("919800000001", true);
  await suppression("919800000002", "provider");
  await reply("919800000002", false);
  // Ended by the account since.
  await reply("919800000003", true);
  await client.query(
    "insert into groups (account_id, id, name, created_at, updated_at) values (1, 1, 'one', now(), now())",
  );
  await client.query(
    `insert into group_members (account_id, id, group_id, phone, created_at)
     values (1, 1, 1, '5215512345678', now()), (1, 2, 1, '525512345678', now())`,
  );

  await run(upgrade);

  const suppressions = await client.query(
    `select person_key, scope, source, evidence ->> 'text' as text, expires_at is null as lasts
     from suppressions order by person_key, source`,
  );
  assert.deepEqual(
    suppressions.rows.map((row) => Object.values(row)),
    [
      ["5551987654321", "all", "reply", null, true],
      ["919800000001", "all", "provider", null, true],
      ["919800000001", "all", "reply", "STOP", true],
      ["919800000002", "all", "provider", null, true],
    ],
  );
  const members = await client.query("select id, phone_key, phone from group_members");
  assert.deepEqual(members.rows, [{ id: "2", phone_key: "525512345678", phone: "525512345678" }]);
});
