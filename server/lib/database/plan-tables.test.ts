import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { planTables, readManifest, type ForeignKey, type Placement } from "./plan-tables.ts";

const migrations_dir = join(import.meta.dirname, "../../../migrations");
const none: ReadonlyMap<string, Placement> = new Map();

test("tenant tables are distributed, reference tables are on every node, operator tables stay on the coordinator", () => {
  const manifest = readManifest(migrations_dir);
  const plan = planTables(manifest, [], none);
  assert.deepEqual(plan.map(({ table }) => table).toSorted(), Object.keys(manifest).toSorted());
  const placementOf = (table: string) => plan.find((one) => one.table === table)?.placement;
  assert.equal(placementOf("leads"), "distributed");
  assert.equal(placementOf("trunks"), "reference");
  assert.equal(placementOf("migrations"), "local");
});

test("reference tables come first, then the accounts, and each table after those that it references", () => {
  const manifest = {
    leads: "tenant",
    contacts: "tenant",
    accounts: "tenant",
    trunk_nodes: "reference",
    trunks: "reference",
    migrations: "operator",
  } as const;
  const keys: ForeignKey[] = [
    { table: "leads", references: "contacts" },
    { table: "contacts", references: "accounts" },
    { table: "accounts", references: "accounts" },
    { table: "trunk_nodes", references: "trunks" },
    // Of a shard, which is not in the manifest.
    { table: "leads", references: "contacts_102008" },
  ];
  assert.deepEqual(
    planTables(manifest, keys, none).map(({ table }) => table),
    ["trunks", "trunk_nodes", "accounts", "contacts", "leads", "migrations"],
  );
});

test("what is distributed already is not planned again", () => {
  const current = new Map<string, Placement>([
    ["accounts", "distributed"],
    ["trunks", "reference"],
  ]);
  const plan = planTables(readManifest(migrations_dir), [], current);
  const done = plan.filter((one) => one.done && one.placement !== "local");
  assert.deepEqual(done.map(({ table }) => table).toSorted(), ["accounts", "trunks"]);
});

test("a table whose placement contradicts the manifest is named with the command that undoes it", () => {
  const current = new Map<string, Placement>([["leads", "reference"]]);
  assert.throws(
    () => planTables(readManifest(migrations_dir), [], current),
    /Table leads is a reference table and must be a distributed table: .*undistribute_table\('leads'/,
  );
});
