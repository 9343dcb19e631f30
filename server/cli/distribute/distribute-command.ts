import { join } from "node:path";
import pg from "pg";
import {
  distributeFunctions,
  dropFunctionsOfShards,
  undistributedFunctions,
} from "../../lib/database/distributed-functions.ts";
import { migrating_application, takeLock } from "../../lib/database/migration-lock.ts";
import { applyFunctions, readFunctions } from "../../lib/database/sql-functions.ts";
import { UsageError, type Command, type Outcome, type Words } from "../command.ts";
import type { Session } from "../session.ts";
import {
  deleteCopiedRows,
  distributeTables,
  readPlan,
} from "../../lib/database/distribute-tables.ts";
import { install_dir } from "../../lib/installation/install-dir.ts";
import { readManifest, type Placement, type PlannedTable } from "../../lib/database/plan-tables.ts";
import { requireCoordinator, requireStopped } from "./require-coordinator.ts";

const migrations_dir = join(install_dir, "migrations");
/** As Citus does by default. */
const shards_default = 32;
const shards_max = 1_024;
const lock_wait_ms = 60_000;
/** As for a migration: PostgreSQL ends the session of a process that froze. */
const frozen_ms = 30_000;

export const distributeCommand: Command = {
  name: "distribute",
  summary: "Distribute the tables by account over the nodes of Citus",
  options: {
    "dry-run": { about: "Print the plan and change nothing" },
    shards: {
      value: "count",
      about: `Shards of each table, the first time; ${shards_default} by default`,
    },
  },
  run: distribute,
};

/** What there is to do, or was done. */
type Plan = { readonly tables: readonly PlannedTable[]; readonly functions: readonly string[] };

async function distribute(session: Session, words: Words): Promise<Outcome> {
  const shards = readShards(words.option("shards"));
  const client = new pg.Client({
    connectionString: await session.databaseUrl(),
    application_name: migrating_application,
  });
  client.on("error", () => {}); // The running statement reports it.
  await client.connect();
  try {
    await requireCoordinator(client);
    await session.migratedDatabase();
    if (words.flag("dry-run")) return outcomeOf(await readWholePlan(client), true);
    return outcomeOf(await carryOut(client, shards), false);
  } finally {
    await client.end();
  }
}

function readShards(text: string | undefined): number {
  if (text === undefined) return shards_default;
  const shards = Number(text);
  if (/^\d+$/.test(text) && shards >= 1 && shards <= shards_max) return shards;
  throw new UsageError(`--shards must be a whole number from 1 to ${shards_max}`);
}

async function readWholePlan(client: pg.Client): Promise<Plan> {
  const { with_generic_plan, without_copies } = await undistributedFunctions(client);
  const functions = [...new Set([...with_generic_plan, ...without_copies])].toSorted();
  return { tables: await readPlan(client, readManifest(migrations_dir)), functions };
}

/** Returns the plan that it carried out. */
async function carryOut(client: pg.Client, shards: number): Promise<Plan> {
  const report = (line: string) => process.stderr.write(`${line}\n`);
  await client.query(
    `set idle_session_timeout = ${frozen_ms}; set idle_in_transaction_session_timeout = ${frozen_ms};
     set statement_timeout = 0; set client_min_messages = warning; set check_function_bodies = off;
     set citus.override_table_visibility = off`,
  );
  await takeLock(client, lock_wait_ms, report);
  await requireStopped(client);
  const plan = await readWholePlan(client);
  report(describe(plan, true));
  await distributeTables(client, plan.tables, shards, report);
  await deleteCopiedRows(client, plan.tables, report);
  await defineFunctions(client, plan.tables);
  return plan;
}

async function defineFunctions(client: pg.Client, tables: Plan["tables"]): Promise<void> {
  await client.query("begin");
  const names = tables.map(({ table }) => table);
  await dropFunctionsOfShards(client, names);
  const functions = readFunctions(migrations_dir);
  await applyFunctions(client, functions);
  await client.query("commit");
  await distributeFunctions(client, functions);
}

function outcomeOf({ tables, functions }: Plan, dry_run: boolean): Outcome {
  const rows = tables.map(({ table, placement, done }) => ({
    table,
    placement,
    status: placement === "local" ? "unchanged" : done ? "was_done" : dry_run ? "planned" : "done",
  }));
  return {
    json: { dry_run, tables: rows, functions },
    text: describe({ tables, functions }, dry_run),
  };
}

function describe({ tables, functions }: Plan, ahead: boolean): string {
  const open = (placement: Placement) =>
    tables.filter((one) => one.placement === placement && !one.done).map(({ table }) => table);
  const [distributed, reference] = [open("distributed"), open("reference")];
  if (distributed.length + reference.length + functions.length === 0)
    return "Every table and function is distributed already.";
  const local = tables.filter(({ placement }) => placement === "local").map(({ table }) => table);
  const was = ahead ? "to be" : "are";
  return [
    `${reference.length} tables ${was} reference tables, on every node: ${listed(reference)}`,
    `${distributed.length} tables ${was} distributed by account_id: ${listed(distributed)}`,
    `${functions.length} functions ${was} copied to every node, and planned for each account: ${listed(functions)}`,
    `${local.length} tables stay on the coordinator: ${listed(local)}`,
  ].join("\n");
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => name.replace(/\(.*/, "")).join(", ");
}
